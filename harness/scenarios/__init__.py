"""Scenarios: short histories of jobs that end in a state which no crash of the operator may change.

A scenario is a function of the world, registered by its decorator. Whoever adds a controller adds a module here, and
its scenarios are run with a crash at every write (`harness.experiments.crash_points`). A kind of job needs none to be
included: the scenarios of `every_kind` are made for each that is installed.
"""

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module

from harness.scenarios.driver import ScenarioDriver

Scenario = Callable[[ScenarioDriver], None]

_registered: dict[str, Scenario] = {}


def scenario(function: Scenario) -> Scenario:
    """Register a scenario under the name of its function."""
    return register(function.__name__, function)


def register(name: str, function: Scenario) -> Scenario:
    """Register a scenario that was made, under a name of its own."""
    if name in _registered:
        raise ValueError(f"there are two scenarios called {name}")
    _registered[name] = function
    return function


@cache
def all_scenarios() -> dict[str, Scenario]:
    """Every scenario of this package's modules, by name."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return dict(sorted(_registered.items()))
