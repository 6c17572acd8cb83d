"""Plugins: classes that the modules of a package declare, and that other packages register by entry point."""

import pkgutil
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import TypeVar

ClassT = TypeVar("ClassT")


def declared(package: str, path: Iterable[str], base: type[ClassT], group: str) -> set[type[ClassT]]:
    """Return the subclasses of `base` in the modules of a package, and those registered in an entry-point group.

    Raises if a module or an entry point cannot be loaded.
    """
    modules = [import_module(f"{package}.{found.name}") for found in pkgutil.iter_modules(path)]
    found = {
        member
        for module in modules
        for member in vars(module).values()
        if isinstance(member, type) and issubclass(member, base) and member.__module__ == module.__name__
    }
    return found | _registered(group)


def _registered(group: str) -> set[type]:
    if not any(_may_register(Path(place), f"[{group}]".encode()) for place in sys.path):
        return set()
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes longer to import than all of our kinds

    return {point.load() for point in entry_points(group=group)}


def _may_register(place: Path, header: bytes) -> bool:
    """Return whether a package in this directory registers something in a group; True if it is no directory (a zip)."""
    try:
        return place.is_file() or any(header in file.read_bytes() for file in place.glob("*-info/entry_points.txt"))
    except OSError:
        return True
