"""Fixtures that every tier may use."""

import asyncio
import gc
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from tests.hypothesis_settings import tried

pytest_plugins = ["testbed.pytest_plugin"]

# pytest-asyncio asks for the current loop before it brings its own; until one has been set, Python before 3.14
# makes one up for it that nobody closes, and some later test fails for the warning.
asyncio.set_event_loop(None)

# A busy machine may take any time over one example; what hangs is found by the bounds of the test itself. A
# property without a number of its own is tried 50 times.
settings.register_profile("any machine", tried(daily=50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests live until the end: the garbage collector need not look at them again and again."""
    gc.disable()
    try:
        result = yield
        gc.collect()
        gc.freeze()
    finally:
        gc.enable()
    return result
