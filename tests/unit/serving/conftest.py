"""An event loop of the test's own."""

import asyncio
from collections.abc import Iterator

import pytest


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """Runs one coroutine after the other."""
    with asyncio.Runner() as made:
        yield made
