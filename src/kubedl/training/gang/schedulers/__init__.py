"""The known gang schedulers: all modules of this package, and those that other packages register."""

import inspect
import pkgutil
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from kubedl.training.gang.scheduler import GangScheduler

ENTRY_POINTS = "kubedl.gang_schedulers"


@cache
def all_gang_schedulers() -> dict[str, GangScheduler]:
    """Return all gang schedulers by name. Raises if one cannot be loaded, or if two have the same name."""
    modules = [import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    declared = {
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if issubclass(member, GangScheduler) and member.__module__ == module.__name__
    }
    declared |= {point.load() for point in entry_points(group=ENTRY_POINTS)}
    found = {make.name: make() for make in sorted(declared, key=lambda one: one.name)}
    if len(found) < len(declared):
        raise ValueError("two gang schedulers have the same name")
    return found
