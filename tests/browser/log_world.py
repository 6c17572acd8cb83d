"""A console beside an API server with the log of a running pod, and a storage with the logs of all pods of its job."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from harness.drivers.recorded_past import PastJob
from kubedl.console.access import TokenAccess
from kubedl.console.history_source import History
from kubedl.console.server import serve
from kubedl.console.sessions import Seal, Tries
from kubedl.console.stored_logs import reading
from kubedl.history.logs.bucket_settings import TIMED
from kubedl.kube.credentials import Credentials
from tests.unit.console.past import DAY, with_history
from tests.unit.console.world import KEY, NOW, World

RANKS, LINES = 6, 6_000  # proofs.console.logs has a million of them, of real nodes
NAMESPACE, NAME = "nlp", "bert"
UID = f"uid-{NAMESPACE}-{NAME}"
NEEDLE = "RuntimeError: NCCL watchdog"
NEEDLE_RANK, NEEDLE_LINE = 4, 5_500
JOB = PastJob(
    NAMESPACE,
    NAME,
    NOW - DAY,
    replicas=RANKS,
    state="Failed",
    uid=UID,
    log="s3://logs/bert/{}.log.gz",
    pod_uids=tuple(f"uid-{NAME}-worker-{index}" for index in range(RANKS)),
)


def line(rank: int, number: int) -> str:
    """What a rank has printed, with its time as the node keeps it."""
    seconds = number // 100
    time = f"2026-11-18T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{number % 100:02}{rank:07}Z"
    if (rank, number) == (NEEDLE_RANK, NEEDLE_LINE):
        return f"{time} rank {rank} line {number} {NEEDLE} caught collective operation timeout"
    return f"{time} rank {rank} line {number} step {number} loss 0.{number % 997:03} throughput 31.4 samples/s"


def objects() -> dict[str, bytes]:
    """The archived logs by their paths, whose nodes have kept every line."""
    return {
        f"/logs/bert/{rank}.log.gz": gzip.compress(
            "".join(f"{line(rank, number)}\n" for number in range(1, LINES + 1)).encode(), 1
        )
        for rank in range(RANKS)
    }


@dataclass
class Kubelet:
    """The log of a container that runs. A request is answered with what the node still has of it, and followed."""

    lines: list[str] = field(default_factory=list)
    cut: asyncio.Event = field(default_factory=asyncio.Event)

    def rotate(self, fresh: list[str]) -> None:
        """Cut all connections; when they are made again, only these lines are there."""
        self.lines = fresh
        self.cut.set()
        self.cut = asyncio.Event()

    async def log(self, request: web.Request) -> web.StreamResponse:
        """Answer."""
        cut, since = self.cut, request.query.get("sinceTime", "")[: len("2026-11-18T00:00:00")]
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write("".join(f"{one}\n" for one in self.lines if one >= since).encode())
        await cut.wait()
        return answer


@asynccontextmanager
async def log_console(world: World, kubelet: Kubelet, directory: Path) -> AsyncIterator[str]:
    """The address of the console, in which Ada may read logs of the namespace."""
    world.reviewer.let("ada", NAMESPACE, "pods/log", "get")
    world.put_job(NAMESPACE, NAME, state="Running")
    world.put_pod(NAMESPACE, f"{NAME}-worker-0", UID)
    api = web.Application()
    api.router.add_get("/api/v1/namespaces/{namespace}/pods/{name}/log", kubelet.log)
    async with served(api) as server, storage(await asyncio.to_thread(objects)) as endpoint:
        access = TokenAccess(world.reviews, Credentials(server, None), Seal(KEY, world.clock), Tries(world.clock))
        async with with_history(world, directory, (JOB,)) as past:
            world.have(History(past.reader, logs=reading(endpoint, "us-east-1", "")))
            async with serve(world.console(access), "127.0.0.1:0") as address:
                yield f"http://{address}"


@asynccontextmanager
async def storage(held: Mapping[str, bytes]) -> AsyncIterator[str]:
    """The address of a storage that has these objects and asks nobody who they are."""

    async def get(request: web.Request) -> web.Response:
        body = held.get(request.path)
        return web.Response(status=404) if body is None else web.Response(body=body, headers={TIMED: "true"})

    application = web.Application()
    application.router.add_get("/{path:.*}", get)
    async with served(application) as address:
        yield address


@asynccontextmanager
async def served(application: web.Application) -> AsyncIterator[str]:
    """The address of an application."""
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
