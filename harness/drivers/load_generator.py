"""Requests at a steady pace, whatever becomes of them: an open loop, in a process of its own.

A request leaves when its moment has come, not when the one before it was answered, so a server that stalls is not
spared. Every request is accounted for: answered by whom, or failed how and when. A generator that cannot keep its pace
says so, since its figures would flatter. It is a process because a test's own work would delay a thread's.
"""

import argparse
import asyncio
import json
import math
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import aiohttp
import msgspec

from harness.drivers.process import Process
from testbed.errors import TestbedError
from testbed.waiting import until, working_seconds

ROOT = Path(__file__).parents[2]
PATIENCE = 10.0  # seconds for one request
LATEST = 0.5  # seconds behind its pace, for more than a few requests, at which a generator is no good
# Of all: where a machine stands still for a moment, so does what is measured. One of the shortest loads, five seconds,
# may lose two of them; who is too slow is later and later, until the end.
FEW = 0.3
PRIORITY = -10  # niceness: who measures comes before whom he measures


class Request(msgspec.Struct, frozen=True):
    """One request and its end."""

    at: float  # when it left, by the clock of this machine (time.time)
    took: float  # seconds
    by: str = ""  # who answered, as the answer says
    failure: str = ""  # why it counts as failed: a status, or what broke
    late: float = 0.0  # seconds after its moment


class Order(msgspec.Struct, frozen=True):
    """What is to be sent."""

    url: str
    host: str  # the Host header, by which gateways choose
    rate: float  # requests a second
    count: int | None = None  # how many; until told to stop if None
    body: str | None = None  # JSON to be posted
    field: str = "by"  # of the JSON answer: who answered
    expect: str | None = None  # of the JSON answer: what must be contained, else it failed


@dataclass(frozen=True)
class Report:
    """What became of requests."""

    requests: tuple[Request, ...]

    def between(self, begin: float, end: float = math.inf) -> "Report":
        """Only those that left in this time."""
        return Report(tuple(one for one in self.requests if begin <= one.at < end))

    @property
    def sent(self) -> int:
        """How many."""
        return len(self.requests)

    @property
    def failed(self) -> tuple[Request, ...]:
        """Those that failed, in the order in which they left."""
        return tuple(one for one in self.requests if one.failure)

    def answered(self) -> dict[str, int]:
        """How many each one answered."""
        return dict(Counter(one.by for one in self.requests if not one.failure))

    def shares(self) -> dict[str, float]:
        """The percentage of all answers that each one gave."""
        answered = self.answered()
        total = sum(answered.values())
        return {by: 100 * count / total for by, count in answered.items()}

    def quantile(self, part: float) -> float:
        """Seconds within which that part of the requests was done, failed ones too."""
        took = sorted(one.took for one in self.requests)
        if not took:
            raise TestbedError("nothing was sent")
        return took[min(len(took) - 1, math.ceil(part * len(took)) - 1)]

    def insist_on_pace(self) -> None:
        """An error if the generator itself was too slow for what it should measure."""
        late = sorted((one.late for one in self.requests), reverse=True)
        if late and late[int(len(late) * FEW)] > LATEST:
            raise TestbedError(f"the load generator fell {late[0]:.1f} s behind its own pace")

    def words(self) -> str:
        """For a message: who answered, what failed."""
        reasons = Counter(one.failure for one in self.failed)
        told = f"{self.sent} requests, answered {self.answered()}, failed {dict(reasons)}"
        if not reasons:
            return told
        began, ended, moments = self.requests[0].at, self.requests[-1].at, [one.at for one in self.failed]
        return (
            f"{told}, {moments[0] - began:.1f} to {moments[-1] - began:.1f} s after the first of {ended - began:.1f} s"
        )


class Load(Process):
    """A load that begins with the block, or with `start`, and ends with `finish` or with all that were ordered."""

    def __init__(self, order: Order, directory: Path | None = None) -> None:
        place = directory or Path(tempfile.mkdtemp(prefix="kubedl-load-"))
        self._results = place / "requests.json"
        (place / "order.json").write_bytes(msgspec.json.encode(order))
        command = [
            sys.executable,
            "-m",
            "harness.drivers.load_generator",
            str(place / "order.json"),
            str(self._results),
        ]
        super().__init__(command, place / "load.log", {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}, ROOT)

    def __enter__(self) -> Self:
        super().__enter__()
        until("the first request", lambda: self.insist() and self.log() != "", deadline=30, interval=0.02)
        return self

    def finish(self) -> Report:
        """Send no more, wait for what is under way, and tell."""
        self.stop(deadline=3 * PATIENCE)
        return self._report()

    def ended(self, deadline: float) -> Report:
        """Wait until all that were ordered are sent and done, and tell."""
        self.wait_ended(deadline)
        return self._report()

    def _report(self) -> Report:
        report = Report(tuple(msgspec.json.decode(self._results.read_bytes(), type=list[Request])))
        report.insist_on_pace()
        return report


async def send(order: Order, stop: asyncio.Event) -> Report:
    """Send as ordered, until all are sent or somebody says stop; returns when all are done."""
    done: list[Request] = []
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=PATIENCE)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session, asyncio.TaskGroup() as group:
        began, number = working_seconds(), 0  # nobody keeps a pace on processors that he does not have
        while not stop.is_set() and (order.count is None or number < order.count):
            ahead = began + number / order.rate - working_seconds()
            if ahead > 0:
                await asyncio.sleep(ahead)
            group.create_task(_one(session, order, max(0.0, -ahead), done))
            number += 1
    return Report(tuple(sorted(done, key=lambda one: one.at)))


async def _one(session: aiohttp.ClientSession, order: Order, late: float, done: list[Request]) -> None:
    at, began, by = time.time(), time.monotonic(), ""
    headers = {"Host": order.host, "Content-Type": "application/json"}
    try:
        method = "GET" if order.body is None else "POST"
        async with session.request(method, order.url, data=order.body, headers=headers) as answer:
            content = await answer.read()
            failure, by = _judge(order, answer.status, content)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        failure = type(error).__name__
    done.append(Request(at, time.monotonic() - began, by, failure, late))


def _judge(order: Order, status: int, content: bytes) -> tuple[str, str]:
    if status != 200:
        return str(status), ""
    try:
        by = json.loads(content).get(order.field, "")
    except (ValueError, AttributeError):
        return "not JSON", ""
    if order.expect is not None and order.expect.encode() not in content:
        return "wrong", str(by)
    return "", str(by)


def main(arguments: Sequence[str] | None = None) -> int:
    """Send what the first file orders, and write what became of it into the second."""
    parser = argparse.ArgumentParser(prog="python -m harness.drivers.load_generator", description=__doc__)
    parser.add_argument("order", type=Path)
    parser.add_argument("results", type=Path)
    options = parser.parse_args(arguments)
    report = asyncio.run(_until_stopped(msgspec.json.decode(options.order.read_bytes(), type=Order)))
    options.results.write_bytes(msgspec.json.encode(report.requests))
    return 0


async def _until_stopped(order: Order) -> Report:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    print("sending", flush=True)
    return await send(order, stop)


if __name__ == "__main__":
    if os.geteuid() == 0:  # not in main(): the process of a unit test must stay as it is
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    sys.exit(main())
