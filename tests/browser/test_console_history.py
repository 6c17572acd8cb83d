"""Costs and deleted jobs in a real Chromium: the real server, and a database that the recorder's code has filled."""

from pathlib import Path

import pytest

from kubedl.console import history_reader, lineage_pages
from kubedl.console.history_source import opened
from kubedl.console.server import serve
from tests.browser.scripts import running
from tests.unit.console.past import CLUSTER, with_history
from tests.unit.console.sample import sample_world
from tests.unit.console.sample_past import BERT, sample_past
from tests.unit.console.world import World


async def play(world: World, state: str) -> None:
    """Run the script for a console in one of its states."""
    async with serve(world.console(), "127.0.0.1:0") as address:
        given = {"CONSOLE": f"http://{address}", "TOKEN": "token-of-ada", "STATE": state, "JOB": BERT.name}
        async with running("history", 180, **given) as process:
            printed, errors = await process.communicate()
    assert printed.decode().splitlines()[-1:] == ["done"], errors.decode()


async def test_a_deleted_job_and_its_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wide and narrow, light and dark; page by page; nothing of a namespace that Ada may not see."""
    monkeypatch.setattr(history_reader, "PAGE", 20)
    monkeypatch.setattr(lineage_pages, "PATIENCE_SECONDS", 60.0)  # the browser leaves the machine little time
    world = sample_world()
    async with with_history(world, tmp_path, sample_past()):
        await play(world, "full")


async def test_without_a_database_the_pages_say_how_to_get_one() -> None:
    await play(sample_world(), "absent")


async def test_with_the_database_down_the_rest_of_the_console_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEDL_HISTORY_DATABASE", "postgresql://user:password@127.0.0.1:1/history")
    world = sample_world()
    async with opened(CLUSTER, "") as history:
        world.have(history)
        await play(world, "down")
