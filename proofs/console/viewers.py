"""Many viewers of the console in a process of their own, each with a token: list once, then follow the stream.

    python -m proofs.console.viewers order.json results.json

Jobs say in their message when they were changed (`at 1763.25`); how long that took to get here is counted. Ends with
SIGTERM. They are a process because a test's own work would delay them.
"""

import argparse
import asyncio
import json
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Self

import aiohttp
import msgspec

from harness.drivers.process import Process
from testbed.waiting import until

ROOT = Path(__file__).parents[2]
STAMP = re.compile(rb'"message":"at (\d+\.\d+)')
LISTED = "listed"
PAUSE = 1.0  # seconds after a cut


class Order(msgspec.Struct, frozen=True):
    """Whose viewers, and of which console."""

    url: str
    tokens: tuple[str, ...]


class Told(msgspec.Struct):
    """What all viewers saw together."""

    milliseconds: dict[int, int] = {}  # from a change to a viewer: how often
    frames: int = 0
    lists: int = 0
    cuts: int = 0

    def quantile(self, part: float) -> float:
        """Seconds within which that part of the changes arrived."""
        total, seen = sum(self.milliseconds.values()), 0
        for milliseconds, count in sorted(self.milliseconds.items()):
            seen += count
            if seen >= part * total:
                return milliseconds / 1000
        return float("inf")  # nothing came


class Viewers(Process):
    """`with Viewers(order) as viewers:` returns when each has the list."""

    def __init__(self, order: Order) -> None:
        place = Path(tempfile.mkdtemp(prefix="kubedl-viewers-"))
        self._order, self._results = order, place / "results.json"
        (place / "order.json").write_bytes(msgspec.json.encode(order))
        command = [sys.executable, "-m", "proofs.console.viewers", str(place / "order.json"), str(self._results)]
        super().__init__(command, place / "viewers.log", {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}, ROOT)

    def __enter__(self) -> Self:
        super().__enter__()
        until("every viewer to have the list", lambda: self.insist() and LISTED in self.log(), deadline=300)
        return self

    def told(self) -> Told:
        """End them, and return what they saw."""
        self.stop()
        return msgspec.json.decode(self._results.read_bytes(), type=Told)


class Audience:
    """All viewers in one loop."""

    def __init__(self, order: Order) -> None:
        self._order, self.told = order, Told()
        self._delays: Counter[int] = Counter()
        self._waiting = len(order.tokens)

    async def watch(self) -> None:
        """Let every viewer watch, until cancelled."""
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None, sock_read=60)
        async with (
            aiohttp.ClientSession(self._order.url, connector=connector, timeout=timeout) as session,
            asyncio.TaskGroup() as group,
        ):
            for token in self._order.tokens:
                group.create_task(self._view(session, {"Authorization": f"Bearer {token}"}))

    def result(self) -> Told:
        """What they saw until now."""
        self.told.milliseconds = dict(self._delays)
        return self.told

    async def _view(self, session: aiohttp.ClientSession, person: dict[str, str]) -> None:
        last, listed = "", False
        while True:
            try:
                if not last:
                    last = await self._list(session, person)
                    if not listed:
                        listed, self._waiting = True, self._waiting - 1
                        if self._waiting == 0:
                            print(LISTED, flush=True)
                last = await self._follow(session, person, last)
            except (aiohttp.ClientError, OSError, TimeoutError):
                self.told.cuts += 1
                await asyncio.sleep(PAUSE)

    async def _list(self, session: aiohttp.ClientSession, person: dict[str, str]) -> str:
        async with session.get("/api/v1/jobs", headers=person, raise_for_status=True) as answer:
            self.told.lists += 1
            cursor: str = json.loads(await answer.read())["cursor"]
        return cursor

    async def _follow(self, session: aiohttp.ClientSession, person: dict[str, str], last: str) -> str:
        headers = {**person, "Last-Event-ID": last}
        rest = b""
        async with session.get("/api/v1/stream", headers=headers, raise_for_status=True) as answer:
            async for part in answer.content.iter_any():
                *events, rest = (rest + part).split(b"\n\n")
                for event in events:
                    if event.startswith(b"event: reset"):
                        return ""
                    last = self._take(event) or last
        return last

    def _take(self, event: bytes) -> str:
        if event.startswith(b"event: frame"):
            now = time.time()
            self.told.frames += 1
            self._delays.update(int(1000 * (now - float(stamp))) for stamp in STAMP.findall(event))
        found = [line[4:].decode() for line in event.split(b"\n") if line.startswith(b"id: ")]
        return found[0] if found else ""


async def _until_stopped(order: Order) -> Told:
    audience, stop = Audience(order), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    watching = asyncio.create_task(audience.watch())
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait((watching, stopping), return_when=asyncio.FIRST_COMPLETED)
    told = audience.result()
    if watching.done():
        watching.result()  # nobody told them to end
    watching.cancel()
    return told


def main() -> int:
    """Watch as the first file orders, and write what was seen into the second."""
    parser = argparse.ArgumentParser(prog="python -m proofs.console.viewers", description=__doc__)
    parser.add_argument("order", type=Path)
    parser.add_argument("results", type=Path)
    options = parser.parse_args()
    told = asyncio.run(_until_stopped(msgspec.json.decode(options.order.read_bytes(), type=Order)))
    options.results.write_bytes(msgspec.json.encode(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
