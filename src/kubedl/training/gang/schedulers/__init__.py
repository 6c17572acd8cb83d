"""The known gang schedulers: all modules of this package, and those that other packages register."""

from functools import cache

from kubedl.runtime.plugins import declared
from kubedl.training.gang.scheduler import GangScheduler

ENTRY_POINTS = "kubedl.gang_schedulers"


@cache
def all_gang_schedulers() -> dict[str, GangScheduler]:
    """Return all gang schedulers by name. Raises if one cannot be loaded, or if two have the same name."""
    classes = declared(__name__, __path__, GangScheduler, ENTRY_POINTS)  # type: ignore[type-abstract]
    found = {make.name: make() for make in sorted(classes, key=lambda one: one.name)}
    if len(found) < len(classes):
        raise ValueError("two gang schedulers have the same name")
    return found
