"""Wheels in a tree whose Python is not the one that runs this.

Only what the requirements file lists is installed, each by hash. The tree's own Python compiles
the bytecode, valid without looking at the source: a pod may not write any, and starts in seconds
instead of minutes with it.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from testbed.images.definitions_loader import Definition
from testbed.images.sandbox import run_isolated

# Covers every tag up to the glibc of the oldest release in the definitions.
PLATFORMS = {"amd64": "x86_64-manylinux_2_34", "arm64": "aarch64-manylinux_2_34"}

# Some wheels hold templates that no Python can compile; compile_dir passes over them.
_COMPILE_DIRECTORY = """
import compileall, py_compile, sys
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
compileall.compile_dir(sys.argv[1], quiet=2, force=True, invalidation_mode=mode)
"""

_COMPILE_FILES = """
import py_compile, sys
for file in sys.argv[1:]:
    py_compile.compile(file, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
"""


def install_wheels(tree: Path, definition: Definition, requirements: Path) -> None:
    """Unpack the wheels where the tree's Python finds them."""
    site = tree / definition.site
    run_isolated(
        *(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps", "--require-hashes"),
        *("--only-binary", ":all:", "--python-version", definition.python, "--python-platform"),
        PLATFORMS[definition.architecture],
        # Linked files would be the cache's own, and a patch would change them there.
        *("--link-mode", "copy", "--target", str(site), "--requirements", str(requirements)),
    )
    _remove_scripts(site / "bin")
    (site / ".lock").unlink(missing_ok=True)


def compile_directory(tree: Path, directory: str) -> None:
    """Compile all modules below a directory of the tree."""
    _python(tree, _COMPILE_DIRECTORY, [f"/{directory}"])


def compile_modules(tree: Path, files: Iterable[str]) -> None:
    """Compile some modules of the tree."""
    _python(tree, _COMPILE_FILES, [f"/{file}" for file in files])


def _remove_scripts(directory: Path) -> None:
    """They start with the path of the Python that ran the installer. Programs of other languages are left."""
    for file in filter(Path.is_file, directory.glob("*")):
        with file.open("rb") as script:
            first = script.readline()
        if first.startswith(b"#!") and b"python" in first:
            file.unlink()
    if directory.exists() and not any(directory.iterdir()):
        directory.rmdir()


def _python(tree: Path, program: str, arguments: list[str]) -> None:
    run_isolated("chroot", str(tree), "/usr/bin/python3", "-c", program, *arguments)
