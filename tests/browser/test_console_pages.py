"""The console's pages in a real Chromium, with the real server and a cache that a test has filled."""

from kubedl.console.server import serve
from tests.browser.scripts import running
from tests.unit.console.sample import sample_world
from tests.unit.console.sample_metrics import put_metrics


async def test_the_pages_show_what_a_person_may_see() -> None:
    """Wide and narrow, light and dark, by mouse and by keyboard; without rights they say which one is missing."""
    world, bare = sample_world(), sample_world()
    put_metrics(world)
    bare.stores.absent = lambda _: True
    async with (
        serve(world.console(), "127.0.0.1:0") as address,
        serve(bare.console(), "127.0.0.1:0") as other,
        running("pages", 300, CONSOLE=f"http://{address}", BARE=f"http://{other}") as process,
    ):
        printed, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    assert printed.decode().splitlines()[-1] == "done"
