"""The console's pages in a real Chromium, with the real server and a cache that a test has filled."""

import asyncio
import os
from pathlib import Path

from kubedl.console.server import serve
from tests.unit.console.sample import sample_world
from tests.unit.console.sample_metrics import put_metrics

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "console" / "browser" / "pages.mjs"
PICTURES = ROOT / "build" / "screenshots" / "console"


async def test_the_pages_show_what_a_person_may_see() -> None:
    """Wide and narrow, light and dark, by mouse and by keyboard; without rights they say which one is missing."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    world, bare = sample_world(), sample_world()
    put_metrics(world)
    bare.stores.absent = lambda _: True
    async with serve(world.console(), "127.0.0.1:0") as address, serve(bare.console(), "127.0.0.1:0") as other:
        addresses = {"CONSOLE": f"http://{address}", "BARE": f"http://{other}"}
        process = await asyncio.create_subprocess_exec(
            "node",
            str(SCRIPT),
            env={**os.environ, **addresses, "PICTURES": str(PICTURES)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(300):
                printed, errors = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
    assert process.returncode == 0, errors.decode()
    assert printed.decode().splitlines()[-1] == "done"
