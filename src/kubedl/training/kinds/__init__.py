"""The installed kinds: all modules of this package, and those that other packages register.

A module here, or an entry point in the group `kubedl.kinds`, is sufficient; there is no other list of kinds.
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
    """Return all installed kinds, sorted by name. Raises if a declaration cannot be loaded."""
    modules = [import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    declared = {
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, Kind) and member.__module__ == module.__name__
    }
    declared |= {point.load() for point in entry_points(group=ENTRY_POINTS)}
    return tuple(sorted((make() for make in declared), key=lambda kind: kind.kind))
