"""The console below a path of a host, behind a reverse proxy, in a real Chromium."""

import pytest

from harness.drivers.path_front import fronted
from kubedl.console.server import serve
from tests.browser.scripts import running
from tests.unit.console.sample import sample_world

PATH = "/ml/kubedl"
ADA = {"TOKEN": "token-of-ada"}


@pytest.mark.parametrize("strips", [True, False])
async def test_the_console_works_below_a_path(strips: bool) -> None:
    """Pages, files, links, the stream and the cookie are there and nowhere else, whether the proxy removes the path."""
    world = sample_world()
    async with (
        serve(world.console(path=PATH), "127.0.0.1:0") as address,
        fronted(f"http://{address}", PATH, strips=strips) as (front, url),
        running("below-path", 180, CONSOLE=url, PICTURES="", **ADA) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        steps = [(await process.stdout.readline()).decode().strip()]
        world.put_job("nlp", "came-later", state="Succeeded")
        process.stdin.write(b"go\n")
        await process.stdin.drain()
        steps.append((await process.stdout.readline()).decode().strip())
        errors = (await process.stderr.read()).decode()
    assert (steps, front.outside) == (["signed in", "done"], []), errors
