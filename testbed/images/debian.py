"""Debian packages in a directory that becomes a file system.

Nothing of the building machine stays in the tree, and its Python bytecode is valid by the hash of
its source, not by a time: layers carry no times, and a pod may not write bytecode of its own.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from testbed.errors import TestbedError
from testbed.images.definitions_loader import User
from testbed.images.sandbox import run_isolated

# Only what no maintainer script reads: bytecode compilation fails if, say, a package's tests are missing.
_EXCLUDED = (
    "/usr/share/doc/*",
    "/usr/share/man/*",
    "/usr/share/locale/*",
    "/usr/share/info/*",
    "/usr/include/*",
)


def install_packages(tree: Path, suite: str, packages: Sequence[str], architecture: str) -> None:
    """Add packages to the tree; an empty one first gets the essential system."""
    if not shutil.which("mmdebstrap"):
        raise TestbedError("mmdebstrap is not installed; images are built with it: apt-get install mmdebstrap")
    occupied = any(tree.iterdir())
    variant = ["--variant=custom", "--skip=check/empty"] if occupied else ["--variant=essential"]
    options = [f"--architectures={architecture}", "--aptopt=APT::Install-Recommends false", "--dpkgopt=force-unsafe-io"]
    options += [f"--dpkgopt=path-exclude={pattern}" for pattern in _EXCLUDED]
    run_isolated(
        *("mmdebstrap", "--mode=root", "--format=directory", *variant, *options),
        *(f"--include={','.join(packages)}", suite, str(tree)),
        # py_compile takes its presence as the wish for bytecode that is checked by hash.
        environment={"SOURCE_DATE_EPOCH": "0", "TMPDIR": str(tree.parent)},
    )
    _forget_machine(tree)


def add_user(tree: Path, user: User) -> None:
    """Give the user a name, a group of that name and a home: ssh refuses a number without them."""
    home = tree / "home" / user.name
    home.mkdir(parents=True)
    shutil.chown(home, user.id, user.id)
    _append(tree / "etc/passwd", f"{user.name}:x:{user.id}:{user.id}::/home/{user.name}:/bin/sh\n")
    _append(tree / "etc/group", f"{user.name}:x:{user.id}:\n")


def _append(file: Path, line: str) -> None:
    file.write_text(file.read_text() + line)


def _forget_machine(tree: Path) -> None:
    for copied in ("etc/resolv.conf", "etc/hostname"):
        (tree / copied).unlink(missing_ok=True)
    # The container runtime brings its own devices, and the next installation wants to make them anew.
    for device in (tree / "dev").iterdir():
        if device.is_dir() and not device.is_symlink():
            device.rmdir()
        else:
            device.unlink()
