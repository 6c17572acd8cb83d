"""The sample of a cluster with all that the pages of a job show: pods, conditions, events, and logs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

from aiohttp import web
from msgspec.structs import replace

from kubedl.console.access import TokenAccess
from kubedl.console.object_kinds import INFERENCES
from kubedl.console.server import serve
from kubedl.console.sessions import Seal, Tries
from kubedl.history.observed import RecordedCondition
from kubedl.history.observed_pods import EVENTS
from kubedl.kube import codec
from kubedl.kube.credentials import Credentials
from kubedl.kube.types.meta import ObjectKey
from tests.unit.console.sample import sample_world
from tests.unit.console.sample_metrics import put_metrics
from tests.unit.console.sample_objects import ago
from tests.unit.console.world import JOBS, KEY, World

LAST_LINE = "loss 0.42 after 1,200 steps"
LOG = [
    "warning: the data set has 3 shards, and there are 2 workers",
    "error: a shard could not be read, reading it again",
    LAST_LINE,
]
FAILED = ("vision", "resnet50-ablation-14")
WAITING = ("nlp", "llama3-70b-lora")


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """The address of a console of this cluster, in which Ada may do almost everything and Ben almost nothing."""
    world = sample_world()
    put_metrics(world)
    for namespace in ("nlp", "vision"):
        world.reviewer.let("ada", namespace, JOBS, "get", "create", "patch", "delete")
    world.reviewer.let("ada", "vision", INFERENCES.name, "get", "patch")
    _history(world, *FAILED, "Failed", "worker-3 ran out of memory (64Gi)")
    _history(world, *WAITING, "Queuing", "2 of 2 pods wait: no node has 8 free GPUs; the largest free block is 4")
    _history(world, "nlp", "bert-large-pretrain", "Running", "")
    namespace, name = FAILED
    world.put_pod(namespace, f"{name}-worker-3", f"uid-{namespace}-{name}", phase="Failed")
    async with _api_server(world) as server:
        access = TokenAccess(world.reviews, Credentials(server, None), Seal(KEY, world.clock), Tries(world.clock))
        async with serve(world.console(access), "127.0.0.1:0") as address:
            yield f"http://{address}"


def _history(world: World, namespace: str, name: str, state: str, message: str) -> None:
    """Let a job have conditions, and events of which every second is a warning."""
    store = world.stores.jobs["pytorchjob"]
    job = next(one for one in store if one.metadata.key == (namespace, name))
    conditions = (_condition("Created", "the job was seen"), _condition(state, message))
    newer = replace(job.metadata, resource_version="1000")
    store.put(replace(job, metadata=newer, status=replace(job.status, conditions=conditions)))
    for number, kind in enumerate(("Normal", "Warning", "Normal")):
        event = {
            "metadata": {"namespace": namespace, "name": f"{name}-{number}", "uid": f"uid-{name}-{number}"},
            "involvedObject": {"kind": "PyTorchJob", "name": name, "uid": job.metadata.uid},
            "type": kind,
            "reason": state,
            "message": message or "the pods of the job were created, and wait for their images",
            "lastTimestamp": ago(minutes=number),
        }
        world.stores.events.put(codec.decode(codec.encode(event), EVENTS.type))


def _condition(kind: str, message: str) -> RecordedCondition:
    since = datetime.now(UTC) - timedelta(minutes=5)
    return RecordedCondition(type=kind, status="True", reason=kind, message=message, last_transition_time=since)


@asynccontextmanager
async def _api_server(world: World) -> AsyncIterator[str]:
    """An API server that has the jobs, the same log for every container, and nothing else."""

    ended = asyncio.Event()

    async def log(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        lines = (f"{ago(minutes=2)[:-1]}.000000000Z {line}\n" for line in LOG * 40)
        await answer.write("".join(lines).encode())
        await ended.wait()  # the containers are still running
        return answer

    async def job(request: web.Request) -> web.Response:
        key = ObjectKey(request.match_info["namespace"], request.match_info["name"])
        found = next(one for one in world.stores.jobs["pytorchjob"] if one.metadata.key == key)
        return web.Response(body=codec.encode(found), content_type="application/json")

    application = web.Application()
    application.router.add_get("/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/pytorchjobs/{name}", job)
    application.router.add_get("/api/v1/namespaces/{namespace}/pods/{name}/log", log)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        ended.set()
        await runner.cleanup()
