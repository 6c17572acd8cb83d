"""Fixtures that every tier may use."""

import asyncio

pytest_plugins = ["testbed.pytest_plugin"]

# pytest-asyncio asks for the current loop before it brings its own; until one has been set, Python before 3.14
# makes one up for it that nobody closes, and some later test fails for the warning.
asyncio.set_event_loop(None)
