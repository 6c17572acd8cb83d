"""A model's image that is mounted: the proof that it is there, and links to it where the server looks.

A cluster that does not know image volumes takes them out of pods without a word, so an empty directory is no surprise.
The image itself says which files it has; of each the size is compared, of small ones the content too.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubedl.api.inventory import INVENTORY, MODELS
from kubedl.serving.loader.failure import LoadingError

_LIBRARY = re.compile(r"\.so(\.[0-9]+)*$")
MISSING = "ModelMissing"  # the reason where a volume was taken out of the pod


def prove(image: Path) -> int:
    """How many files were found; LoadingError if the model is not there, or not as it was packed."""
    root = image / MODELS
    if not root.is_dir() or not any(root.iterdir()):
        raise LoadingError(MISSING, f"{image} has no model: the image volume was taken out of the pod, or is empty")
    inventory = image / INVENTORY
    if not inventory.is_file():
        return sum(1 for _ in root.iterdir())  # packed by somebody who keeps no list
    count = 0
    for path, size, digest in _listed(inventory):
        found = root / path
        if not found.is_file() or found.is_symlink():
            raise LoadingError("ModelIncomplete", f"{path} is not in the mounted image")
        if found.stat().st_size != size:
            raise LoadingError("ModelIncomplete", f"{path} has {found.stat().st_size} bytes and was packed with {size}")
        if digest and hashlib.sha256(found.read_bytes()).hexdigest() != digest:
            raise LoadingError("ModelIncomplete", f"{path} is not what was packed")
        count += 1
    return count


def link(image: Path, target: Path) -> None:
    """Show the model in the directory in which the server looks.

    It is links into the mounted image, but for programs and shared libraries: runtimes mount images `noexec`, where no
    program can be started and no library loaded. Those are copied, into directories of their own.
    """
    root = (image / MODELS).resolve()
    every = [Path(place, name) for place, _, names in os.walk(root) for name in names]
    copied = {path for path in every if _is_run(path)}
    # What leads to a copy is shown beside it, so that it does not lead into the image.
    beside = {path for path in every if path.is_symlink() and path.resolve() in copied}
    own = copied | {parent for path in copied | beside for parent in path.parents}
    for entry in root.iterdir():
        place = target / entry.name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)  # a pod that starts anew has what an earlier try, and what was set in it, has left
        else:
            place.unlink(missing_ok=True)
        _show(entry, place, own)


def _show(entry: Path, place: Path, own: set[Path]) -> None:
    """`own` are files that are copied, and directories that have such."""
    if entry.is_symlink() and entry.resolve() in own:
        place.symlink_to(entry.readlink())  # relative, and within the model, as the packer checks it
    elif entry.is_symlink() or entry not in own:
        place.symlink_to(entry)
    elif entry.is_dir():
        place.mkdir(mode=0o755)
        for one in entry.iterdir():
            _show(one, place / one.name, own)
    else:
        shutil.copyfile(entry, place)
        place.chmod(0o755)


def _is_run(path: Path) -> bool:
    """Whether it is a program or a shared library. Some storage marks every file as one, so its first bytes decide."""
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
