"""Scenarios: short histories of jobs that end in a state which no crash of the operator may change.

A scenario is a function of the world, registered by its decorator. Whoever adds a controller adds a module here, and
its scenarios are run with a crash at every write (`harness.crashpoints`).
"""

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module

from harness.world import World

Scenario = Callable[[World], None]

_registered: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    """Register a scenario under the name of its function."""
    if function.__name__ in _registered:
        raise ValueError(f"there are two scenarios called {function.__name__}")
    _registered[function.__name__] = function
    return function


@cache
def all_scenarios() -> dict[str, Scenario]:
    """Every scenario of this package's modules, by name."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return dict(sorted(_registered.items()))
