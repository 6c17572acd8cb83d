"""Verifies a mounted model image, and links it to where the server reads it.

Clusters without the ImageVolume feature silently strip image volumes from pods, so the directory may be empty. The
image has a list of its files; all sizes are compared, and the content of small files too.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubedl.podspec.image_layout import INVENTORY, MODELS
from kubedl.serving.loader.errors import LoadingError

_LIBRARY = re.compile(r"\.so(\.[0-9]+)*$")
MISSING = "ModelMissing"  # reason if the image volume was stripped from the pod


def verify(image: Path) -> int:
    """Return the number of files; raises LoadingError if the model is missing or differs from what was packed."""
    root = image / MODELS
    if not root.is_dir() or not any(root.iterdir()):
        raise LoadingError(MISSING, f"{image} has no model: the image volume was stripped from the pod, or is empty")
    inventory = image / INVENTORY
    if not inventory.is_file():
        return sum(1 for _ in root.iterdir())  # packed by a tool that writes no list of files
    count = 0
    for path, size, digest in _listed(inventory):
        found = root / path
        if not found.is_file() or found.is_symlink():
            raise LoadingError("ModelIncomplete", f"{path} is not in the mounted image")
        if found.stat().st_size != size:
            raise LoadingError(
                "ModelIncomplete", f"{path} has {found.stat().st_size} bytes, but was packed with {size}"
            )
        if digest and hashlib.sha256(found.read_bytes()).hexdigest() != digest:
            raise LoadingError("ModelIncomplete", f"{path} differs from what was packed")
        count += 1
    return count


def link(image: Path, target: Path) -> None:
    """Show the model in the directory that the server reads.

    Files are links into the mounted image, except programs and shared libraries: runtimes mount images `noexec`, so
    these cannot be executed or loaded from there. They are copied, into real directories.
    """
    root = (image / MODELS).resolve()
    every = [Path(place, name) for place, _, names in os.walk(root) for name in names]
    copied = {path for path in every if _is_run(path)}
    # Links to a copied file are recreated beside it, so that they do not lead into the image.
    beside = {path for path in every if path.is_symlink() and path.resolve() in copied}
    own = copied | {parent for path in copied | beside for parent in path.parents}
    for entry in root.iterdir():
        place = target / entry.name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)  # a restarted container finds the results of an earlier attempt
        else:
            place.unlink(missing_ok=True)
        _show(entry, place, own)


def _show(entry: Path, place: Path, own: set[Path]) -> None:
    """`own` are the files to copy, and the directories that contain them."""
    if entry.is_symlink() and entry.resolve() in own:
        place.symlink_to(entry.readlink())  # relative and within the model, as the packer checks
    elif entry.is_symlink() or entry not in own:
        place.symlink_to(entry)
    elif entry.is_dir():
        place.mkdir(mode=0o755)
        for path in entry.iterdir():
            _show(path, place / path.name, own)
    else:
        shutil.copyfile(entry, place)
        place.chmod(0o755)


def _is_run(path: Path) -> bool:
    """Return whether it is a program or shared library, by its first bytes: some storage marks all files executable."""
    if path.is_symlink() or not path.is_file():
        return False
    executable = bool(path.stat().st_mode & 0o111)
    if not executable and not _LIBRARY.search(path.name):
        return False
    with path.open("rb") as file:
        start = file.read(4)
    return start == b"\x7fELF" or (executable and start.startswith(b"#!"))


def _listed(inventory: Path) -> Iterator[tuple[str, int, str]]:
    try:
        content: dict[str, Any] = json.loads(inventory.read_bytes())
        for path, (size, digest) in content["files"].items():
            yield path, int(size), str(digest)
    except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
        raise LoadingError("ModelIncomplete", f"{INVENTORY} of the image cannot be read: {error}") from error
