"""10,000 jobs of 10 pods as watch events, 1,000 a second, into a recorder: `python -m proofs.history.replay`.

The recorder is the product's: client, reflectors, queue, writer, receipts; its server is a stand-in that sends events
over HTTP, each at its time; the databases are real. The lag of a state is the time from the moment at which its event
was due until its row was committed. Afterwards every row is compared with the stream. The last line is JSON.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from prometheus_client import CollectorRegistry
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from harness.drivers.databases import SERVERS
from kubedl.entrypoints.recorded_kinds import recorded_kinds
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.migrate import migrate
from kubedl.history.observation import Change, Observation
from kubedl.history.receipts import Receipts
from kubedl.history.recorder import Recorder, Settings
from kubedl.history.recorder_metrics import RecorderMetrics
from kubedl.history.sink import Epoch
from kubedl.history.sinks.database import DatabaseSink
from kubedl.history.tables import jobs, pods
from kubedl.kube.client import Client
from kubedl.kube.credentials import Credentials
from proofs.history.job_stream import JOBS, PODS, Outcome, Stream

FULL = os.environ.get("PROOF_SIZE", "full") == "full"
NUMBER, OF_PODS, RATE = (10_000, 10, 1000.0) if FULL else (100, 10, 1000.0)
CLUSTER = "replayed"
SETTLED = 60.0  # seconds after the last event
ROOT = Path(__file__).parents[2]


@dataclass
class Lags:
    """When states were committed, in seconds after their events were due."""

    began: float = 0.0
    seconds: list[float] = field(default_factory=list)

    def committed(self, batch: Sequence[Change]) -> None:
        """Note a batch."""
        now = time.monotonic()
        for change in batch:
            if isinstance(change, Observation) and change.version > 0:
                self.seconds.append(now - self.began - change.version / RATE)

    def quantile(self, share: float) -> float:
        """Return the lag that this share of states did not exceed."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


class Server:
    """The process that sends the stream."""

    def __init__(self, stream: Stream) -> None:
        command = [sys.executable, "-m", "proofs.history.watch_server"]
        command += ["--jobs", str(stream.jobs), "--pods", str(stream.pods), "--start", stream.start.isoformat()]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        self._process = subprocess.Popen(
            [*command, "--rate", str(RATE)], stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
        )
        self.port = int(self._told()["port"])

    def _told(self) -> dict[str, float]:
        if self._process.stdout is None:
            raise AssertionError("its output is a pipe")
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError("the server of the stream has ended")
        found: dict[str, float] = json.loads(line)
        return found

    async def told(self) -> dict[str, float]:
        """Wait for its next message."""
        return await asyncio.to_thread(self._told)

    def kill(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


def main() -> int:
    """Replay into both databases."""
    stream = Stream(NUMBER, OF_PODS, datetime.now(UTC).replace(microsecond=0))
    truth, number = stream.outcomes()
    figures: dict[str, float] = {"events": number, "objects": sum(map(len, truth.values()))}
    for family, server in SERVERS.items():
        with server() as database:
            measured = asyncio.run(_replayed(stream, truth, number, database.url()))
        print(f"{family}: {measured}", file=sys.stderr, flush=True)
        figures |= {f"{family} {name}": value for name, value in measured.items()}
    figures["most memory MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(figures))
    return 0


async def _replayed(stream: Stream, truth: dict[str, dict[str, Outcome]], number: int, url: str) -> dict[str, float]:
    engine = create_engine(parse_url(url))
    await migrate(engine)
    server, lags = Server(stream), Lags()
    try:
        async with _recording(engine, server.port, lags):
            lags.began = (await server.told())["began"]
            sent = (await server.told())["sent"]
            await _settled(engine, truth)
        wrong = await _differences(engine, truth)
    finally:
        server.kill()
        await engine.dispose()
    return {
        "wrong rows": wrong,
        "events per second": round(number / sent),
        "lag p50 s": round(lags.quantile(0.5), 2),
        "lag p99 s": round(lags.quantile(0.99), 2),
        "lag max s": round(max(lags.seconds), 2),
    }


@asynccontextmanager
async def _recording(engine: AsyncEngine, port: int, lags: Lags) -> AsyncIterator[None]:
    client = Client(Credentials(f"http://127.0.0.1:{port}", None))
    receipts = Receipts(engine, CLUSTER)

    def written(batch: Sequence[Change]) -> None:
        lags.committed(batch)
        receipts.written(batch)

    sink = DatabaseSink(engine, CLUSTER, written=written)
    metrics = RecorderMetrics(CollectorRegistry())
    recorder = Recorder(client, recorded_kinds(), [sink], metrics, settings=Settings())
    tasks = [asyncio.ensure_future(recorder.run(Epoch("lease", 0, "me"))), asyncio.ensure_future(receipts.run())]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await client.close()


async def _settled(engine: AsyncEngine, truth: dict[str, dict[str, Outcome]]) -> None:
    """Wait until nothing differs, or for a minute."""
    deadline = time.monotonic() + SETTLED
    while time.monotonic() < deadline:
        if not await _differences(engine, truth):
            return
        await asyncio.sleep(1)


async def _differences(engine: AsyncEngine, truth: dict[str, dict[str, Outcome]]) -> int:
    """Return the number of objects whose row is missing, older or of another state, and of rows without an object."""
    wrong = 0
    for name, table, state in ((JOBS, jobs, jobs.c.state), (PODS, pods, pods.c.phase)):
        query = select(table.c.uid, state, table.c.deletion, table.c.resource_version).where(table.c.cluster == CLUSTER)
        async with engine.connect() as connection:
            found = {row[0]: Outcome(*row[1:]) for row in await connection.execute(query)}
        wrong += sum(found.get(uid) != outcome for uid, outcome in truth[name].items()) + len(
            found.keys() - truth[name]
        )
    return wrong


if __name__ == "__main__":
    sys.exit(main())
