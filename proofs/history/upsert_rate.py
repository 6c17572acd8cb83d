"""How fast the recorder writes, beside a script that only upserts: `python -m proofs.history.upsert_rate`.

Three in turn, several times: a script that has the rows ready and sends them with the driver alone; the recorder's
writer, whose queue has the same observations, in fenced, monotonic transactions as large; and the whole recorder, which
reads watch events as they are on the wire and makes the rows first. The last line is JSON with medians of ratios.
"""

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from prometheus_client import CollectorRegistry
from sqlalchemy.ext.asyncio import AsyncEngine

from harness.drivers.databases import SERVERS
from kubedl.entrypoints.recorded_kinds import recorded_kinds
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.migrate import migrate
from kubedl.history.observation import Change, Observation
from kubedl.history.pending import Pending
from kubedl.history.recorder import Recorder, Settings
from kubedl.history.recorder_metrics import RecorderMetrics
from kubedl.history.sink import Epoch
from kubedl.history.sinks.database import DatabaseSink
from kubedl.history.writer import Writer
from kubedl.kube import codec
from kubedl.kube.types.meta import Resource
from proofs.history import bare_upserts
from proofs.history.job_stream import JOBS, PODS, Event, Stream
from proofs.history.watch_server import bookmark

if TYPE_CHECKING:
    from kubedl.kube.client import Client

FULL = os.environ.get("PROOF_SIZE", "full") == "full"
NUMBER, OF_PODS, ROUNDS = (2000, 10, 7) if FULL else (50, 10, 1)
AT_ONCE = 100  # events of one read from the socket
KINDS = {kind.resource.plural: kind for kind in recorded_kinds() if kind.resource.plural in (JOBS, PODS)}


class Wire:
    """A client whose watches bring events as fast as they are read."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events

    @asynccontextmanager
    async def stream(
        self, resource: Resource[Any], _: str, __: Mapping[str, str], ___: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch."""
        yield self._parts([event.line for event in self._events if event.resource == resource.plural])

    async def call(self, *_: object) -> bytes:
        """Answer discovery."""
        return codec.encode({"resources": [{"name": name} for name in KINDS]})

    async def _parts(self, lines: Sequence[bytes]) -> AsyncIterator[bytes]:
        yield bookmark("true")
        for start in range(0, len(lines), AT_ONCE):
            yield b"".join(lines[start : start + AT_ONCE])
            await asyncio.sleep(0)
        await asyncio.Event().wait()


def main() -> int:
    """Measure both databases."""
    events = _last_events(Stream(NUMBER, OF_PODS, datetime.now(UTC).replace(microsecond=0)))
    figures: dict[str, float] = {}
    for family, server in SERVERS.items():
        with server() as database:
            measured = asyncio.run(_measure(database.url(), events))
        print(f"{family}: {measured}", file=sys.stderr, flush=True)
        figures |= {f"{family} {name}": value for name, value in measured.items()}
    print(json.dumps(figures))
    return 0


def _last_events(stream: Stream) -> list[Event]:
    """Return one event for each object, so that neither side can save a write."""
    last = {_object(event)["metadata"]["uid"]: event for event in stream.events()}
    return sorted(last.values())


async def _measure(url: str, events: Sequence[Event]) -> dict[str, float]:
    engine = create_engine(parse_url(url))
    await migrate(engine)
    observations, upserts = [_observed(event) for event in events], bare_upserts.SCRIPTS[engine.dialect.name]
    rates: dict[str, list[float]] = {"script": [], "writer": [], "recorder": []}
    for number in range(ROUNDS):
        rows = bare_upserts.rows_of(observations, f"script-{number}", engine.dialect.name)
        total = sum(map(len, rows.values()))
        rates["script"].append(total / await _seconds(upserts(engine.url, rows)))
        pending = _filled(observations)
        rates["writer"].append(total / await _seconds(_written(engine, f"writer-{number}", pending)))
        rates["recorder"].append(total / await _seconds(_recorded(engine, f"recorder-{number}", events)))
    await engine.dispose()
    figures: dict[str, float] = {
        f"{who} rows per second": round(statistics.median(rate)) for who, rate in rates.items()
    }
    for who in ("writer", "recorder"):
        ratios = [one / script for one, script in zip(rates[who], rates["script"], strict=True)]
        figures[f"{who} to script"] = round(statistics.median(ratios), 2)
    return figures


async def _seconds(work: Awaitable[None]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


def _filled(observations: Sequence[Observation]) -> Pending:
    pending = Pending()
    for observation in observations:
        pending.add(observation)
    return pending


async def _written(engine: AsyncEngine, cluster: str, pending: Pending) -> None:
    """Write a queue that is full at the start."""
    written, metrics = Written(len(pending)), RecorderMetrics(CollectorRegistry())
    writer = Writer(DatabaseSink(engine, cluster, written=written.add), pending, metrics)
    await _until(written, writer.run(Epoch("lease", 0, "me")))


async def _recorded(engine: AsyncEngine, cluster: str, events: Sequence[Event]) -> None:
    """Record from the first event to the last commit."""
    written, metrics = Written(len(events)), RecorderMetrics(CollectorRegistry())
    sink = DatabaseSink(engine, cluster, written=written.add)
    recorder = Recorder(cast("Client", Wire(events)), KINDS.values(), [sink], metrics, settings=Settings())
    await _until(written, recorder.run(Epoch("lease", 0, "me")))


class Written:
    """Counts down the changes that are not committed."""

    def __init__(self, left: int) -> None:
        self._left, self.all = left, asyncio.Event()

    def add(self, batch: Sequence[Change]) -> None:
        """Count a batch."""
        self._left -= len(batch)
        if self._left <= 0:
            self.all.set()


async def _until(written: Written, work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.ensure_future(work)
    await written.all.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def _observed(event: Event) -> Observation:
    kind, deleted = KINDS[event.resource], codec.decode(event.line, dict[str, Any])["type"] == "DELETED"
    obj = kind.resource.decoder.decode(codec.encode(_object(event)))
    return kind.row(obj, deleted=deleted, now=datetime.now(UTC))


def _object(event: Event) -> dict[str, Any]:
    found: dict[str, Any] = codec.decode(event.line, dict[str, Any])["object"]
    return found


if __name__ == "__main__":
    sys.exit(main())
