"""A console without a cluster."""

import pytest

from tests.unit.console.world import World


@pytest.fixture
async def world() -> World:
    """Return a console in which Ada may see the namespace nlp, and Ben the namespace vision."""
    world = World()
    world.reviewer.tokens |= {"token-of-ada": "ada", "token-of-ben": "ben"}
    world.reviewer.allow("ada", "nlp")
    world.reviewer.allow("ben", "vision")
    return world
