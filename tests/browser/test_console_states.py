"""Pages of the console whose sign-in, rights or API server go away, in a real Chromium: what stays, what must not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kubedl.console.kinds import NODES
from kubedl.console.server import serve
from kubedl.kube import codec
from kubedl.kube.errors import UnknownOutcomeError
from proofs.console.windows import PATIENCE, Shown, Windows
from tests.unit.console.sample import sample_world
from tests.unit.console.world import World

REMEMBERED = 60.0  # seconds after which every answer about a person is asked for again
RETURN = 60.0  # seconds until a page that was cut off goes on: between two tries it waits for up to 30
AWAY = UnknownOutcomeError(0, "", "create of tokenreviews: Cannot connect to 10.0.0.1:6443")


@asynccontextmanager
async def signed_in(world: World, who: str, path: str) -> AsyncIterator[Windows]:
    """A window with a page of somebody; the console runs in this process, so nothing here may block."""
    async with serve(world.console(), "127.0.0.1:0") as address:
        with Windows(f"http://{address}") as windows:
            await asyncio.to_thread(windows.open, who, "", path)
            await asyncio.to_thread(windows.sign_in, who, f"token-of-{who}")
            yield windows


async def look(windows: Windows, who: str, *words: str, within: float = PATIENCE) -> Shown:
    """What the window shows as soon as it has all these words."""
    shown = await asyncio.to_thread(windows.look, who, words, within)
    assert not shown.missing, f"no {shown.missing}: {shown.text}"
    assert shown.loads == 1
    return shown


async def visit(windows: Windows, who: str, path: str, *words: str) -> Shown:
    """The same of another page, which is not loaded."""
    shown = await asyncio.to_thread(windows.visit, who, path, words)
    assert not shown.missing, f"{path} has no {shown.missing}: {shown.text}"
    return shown


def forget(world: World) -> None:
    """Let time pass until nothing is remembered about anybody."""
    world.clock.now += REMEMBERED


async def test_a_sign_in_that_ends_leaves_the_page_as_it_is() -> None:
    """A dialog is over it; the same person goes on, and another one finds nothing of what the first has read."""
    world = sample_world()
    async with signed_in(world, "ada", "/jobs") as windows:
        await look(windows, "ada", "Live", "bert-large-pretrain")
        await asyncio.to_thread(windows.type, "ada", "Filter", "llama3")
        token = world.reviewer.tokens.pop("token-of-ada")
        forget(world)
        shown = await look(windows, "ada", "Your sign-in has ended.", "llama3-70b-lora")
        assert (shown.dialog, shown.typed, shown.heading) == ("Signed out", ("llama3",), "Jobs")
        world.reviewer.tokens["token-of-ada"] = token
        forget(world)
        await asyncio.to_thread(windows.sign_in, "ada", "token-of-ada")
        shown = await look(windows, "ada", "Live", "llama3-70b-lora")
        assert (shown.dialog, shown.typed, shown.path) == ("", ("llama3",), "/jobs?q=llama3")
        await visit(windows, "ada", "/nodes", "a100-01")
        del world.reviewer.tokens["token-of-ada"]
        forget(world)
        await look(windows, "ada", "Your sign-in has ended.", "a100-01")
        await asyncio.to_thread(windows.sign_in, "ada", "token-of-ben")
        shown = await look(windows, "ada", "Live", "May not list nodes.")
        assert "a100" not in shown.text
        shown = await visit(windows, "ada", "/jobs", "vit-g14-finetune")
        assert "llama3" not in shown.main


async def test_rights_and_api_servers_that_go_away() -> None:
    """A page of before does not outlive a right. The API server is named as what is away; what failed comes back."""
    world = sample_world()
    async with signed_in(world, "ada", "/nodes") as windows:
        await look(windows, "ada", "Live", "a100-01")
        world.reviewer.allowed.discard(("ada", "nodes", ""))
        forget(world)
        shown = await look(windows, "ada", "May not list nodes.")
        assert "a100" not in shown.text
        shown = await visit(windows, "ada", "/", "May not list nodes.", "bert-large-pretrain")
        assert "a100" not in shown.main
        before = world.reviewer.call

        async def away(*_: Any, **__: Any) -> bytes:  # noqa: ANN401 - whatever is asked
            raise AWAY

        world.reviewer.call = away  # type: ignore[method-assign]
        forget(world)
        await look(windows, "ada", "Cluster does not answer, last heard", "bert-large-pretrain")
        shown = await visit(windows, "ada", "/crons", "The API server does not answer.", "Try again")
        assert "10.0.0.1" not in shown.text
        assert shown.stale
        world.reviewer.call = before  # type: ignore[method-assign]
        await look(windows, "ada", "Live", "dlrm-daily", within=RETURN)


async def test_what_is_not_known_is_not_none() -> None:
    """Of jobs that are hidden, of what was not read yet, and of queues of which Kueue has said nothing."""
    world = sample_world()
    async with signed_in(world, "cara", "/") as windows:
        shown = await look(windows, "cara", "Live", "Jobs are hidden from you.", "4 namespaces are hidden")
        assert not shown.zeros
        shown = await visit(windows, "cara", "/jobs", "There are no jobs that you may see.", "4 namespaces are hidden")
        assert not shown.zeros
        world.reviewer.allow("cara", "", "nodes", "clusterqueues.kueue.x-k8s.io")
        forget(world)
        shown = await visit(
            windows, "cara", "/queues", "Kueue has not said who is admitted", "Those who wait are hidden"
        )
        assert not shown.zeros
        joined = {"metadata": {"name": "just-joined", "uid": "uid-just-joined", "resourceVersion": "99999"}}
        world.stores.nodes.put(codec.decode(codec.encode(joined), NODES.type))
        shown = await visit(windows, "cara", "/nodes", "just-joined")
        assert "0 of 0" not in shown.main
        await visit(windows, "cara", "/jobs", "There are no jobs that you may see.")
        world.stores.unread = lambda name: name == "nodes"
        await visit(windows, "cara", "/nodes?q=a100", "Not known yet.", "has not read all nodes")
