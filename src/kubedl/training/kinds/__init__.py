"""The kinds that are installed: every declaration in this package, and those that other packages register.

A file here or an entry point of the group `kubedl.kinds` is all it takes; no other list of kinds exists.
"""

import inspect
import pkgutil
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from kubedl.training.kind import Kind

ENTRY_POINTS = "kubedl.kinds"


@cache
def all_kinds() -> tuple[Kind, ...]:
    """Every installed kind, in alphabetical order. Raises if a package's declaration cannot be loaded."""
    modules = [import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    declared = {
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, Kind) and member.__module__ == module.__name__
    }
    declared |= {point.load() for point in entry_points(group=ENTRY_POINTS)}
    return tuple(sorted((make() for make in declared), key=lambda kind: kind.kind))
