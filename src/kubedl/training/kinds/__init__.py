"""The installed kinds: all modules of this package, and those that other packages register.

A module here, or an entry point in the group `kubedl.kinds`, is sufficient; there is no other list of kinds.
"""

from functools import cache

from kubedl.runtime.plugins import declared
from kubedl.training.kind import Kind

ENTRY_POINTS = "kubedl.kinds"


@cache
def all_kinds() -> tuple[Kind, ...]:
    """Return all installed kinds, sorted by name. Raises if a declaration cannot be loaded."""
    found = declared(__name__, __path__, Kind, ENTRY_POINTS)  # type: ignore[type-abstract]
    return tuple(sorted((make() for make in found), key=lambda kind: kind.kind))
