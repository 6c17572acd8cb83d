"""A model's image that is mounted: the proof that it is there, and links to it where the server looks.

A cluster that does not know image volumes takes them out of pods without a word, so an empty directory is no surprise.
The image itself says which files it has; of each the size is compared, of small ones the content too.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kubedl.api.inventory import INVENTORY, MODELS
from kubedl.serving.loader.failure import LoadingError

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
    """Show the model in the directory in which the server looks, entry by entry."""
    for entry in (image / MODELS).iterdir():
        place = target / entry.name
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)  # a pod that starts anew has what an earlier try, and what was set in it, has left
        else:
            place.unlink(missing_ok=True)
        place.symlink_to(entry)


def _listed(inventory: Path) -> Iterator[tuple[str, int, str]]:
    try:
        content: dict[str, Any] = json.loads(inventory.read_bytes())
        for path, (size, digest) in content["files"].items():
            yield path, int(size), str(digest)
    except (ValueError, TypeError, KeyError, AttributeError, OSError) as error:
        raise LoadingError("ModelIncomplete", f"{INVENTORY} of the image cannot be read: {error}") from error
