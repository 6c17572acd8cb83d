"""A cluster and a history in which each question of the console has one right answer, which their makers know."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness.drivers import console_objects
from harness.drivers.api_connection import Connection
from harness.drivers.console_objects import EVERYTHING, Team
from harness.drivers.console_process import ConsoleProcess, rights_everywhere, token_of
from harness.drivers.databases import create_tables
from harness.drivers.prometheus import RealPrometheus
from harness.drivers.recorded_past import PastJob, record
from harness.fakes.kubelet import Printed, node_with_logs
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.price_book import PriceBook, PriceEntry
from kubedl.serving.rollout.promql import Target
from proofs.console import question_metrics
from testbed import namespaces
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until

HISTORY = "kubedl"  # the name of the cluster in the history, by default
PERSON = "mei"
NODES = {"q-a": "8", "q-b": "8", "q-c": "8"}  # GPUs
CLOSED = "q-c"
LOGS = "q-logs"
PRICE = 2.5  # EUR for a GPU hour
POOL = "a100"
FIRST, SAID = "train-9-worker-2", "RuntimeError: shard 41 of s3://data/web has no index"
OTHERS_SAID = "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4242"
SILENT = timedelta(minutes=31)
BOUNDS = {"errorRate": 1, "p99": 500, "minRequests": 100}
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Prepared:
    """What the questions are asked about, and who asks."""

    cluster: Cluster
    console: ConsoleProcess
    token: str
    namespace: str
    user: str  # as jobs name it
    past: tuple[PastJob, ...]


@contextmanager
def prepared(cluster: Cluster, directory: Path) -> Iterator[Prepared]:
    """Fill a cluster and a history, and start a console beside them."""
    console_objects.define(cluster)
    offers = {name: {"cpu": "64", "memory": "512Gi", "gpu": gpus} for name, gpus in NODES.items()}
    failed = {f"train-9-worker-{index}": Printed(["epoch 1", OTHERS_SAID]) for index in range(4)}
    printed = failed | {FIRST: Printed(["epoch 1", SAID]), "hangs-worker-0": Printed(["waiting"], SILENT)}
    with ExitStack() as stack:
        connection = stack.enter_context(Connection(cluster))
        namespace = stack.enter_context(namespaces.fresh(cluster.api, "questions"))
        stack.enter_context(rights_everywhere(cluster, namespace, PERSON, *EVERYTHING))
        stack.enter_context(console_objects.nodes(connection, offers, (CLOSED,)))
        room = {"cpu": "64", "memory": "512Gi", "gpu": "2"}
        stack.enter_context(node_with_logs(cluster, connection, LOGS, ["step 1"], printed, room))
        canary = Target(namespace, "support-main-next", 8080)
        measured = question_metrics.past(canary, namespace, last_month(datetime.now(UTC))[0])
        asked = stack.enter_context(RealPrometheus(past=measured)).url
        past, history = past_jobs(namespace, datetime.now(UTC)), f"sqlite:///{directory}/history.db"
        create_tables(history)
        asyncio.run(recorded(history, past))
        user = f"system:serviceaccount:{namespace}:{PERSON}"
        fill(Team(connection, namespace), user, past[-1])
        console = stack.enter_context(ConsoleProcess(cluster, directory, f"--prometheus={asked}", history=history))
        yield Prepared(cluster, console, token_of(cluster, namespace, PERSON), namespace, user, past)


def last_month(now: datetime) -> tuple[datetime, datetime]:
    """The calendar month before this one, and its end."""
    end = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return (end - timedelta(days=1)).replace(day=1), end


def past_jobs(namespace: str, now: datetime) -> tuple[PastJob, ...]:
    """Jobs that waited in one queue, jobs of last month, and the one that made the model; all were deleted."""
    began, end = last_month(now)
    waited = [
        PastJob(
            namespace,
            f"alike-{number}",
            now - 2 * HOUR - number * timedelta(minutes=20),
            waited=timedelta(minutes=7 * number),
            queue="gpus",
            gpus=12 + number % 5,
            user="tomas.k",
        )
        for number in range(1, 25)
    ]
    month = [
        PastJob(
            namespace,
            f"month-{number}",
            began + timedelta(days=3 * number, hours=9),
            ran=timedelta(hours=number + 1, minutes=20),
            gpus=number + 1,
            user=("tomas.k", "priya.n")[number % 2],
            state="Failed" if number == 2 else "Succeeded",
        )
        for number in range(5)
    ]
    across = PastJob(namespace, "across", end - timedelta(hours=3), waited=HOUR, ran=5 * HOUR, gpus=4, user="priya.n")
    made = PastJob(
        namespace, "summary-train", now - timedelta(days=4), gpus=2, user="lucia.m", data="s3://data/dialogues/v3"
    )
    return (*waited, *month, across, made)


async def recorded(history: str, past: tuple[PastJob, ...]) -> None:
    """Write them as the recorder does."""
    engine = create_engine(parse_url(history))
    await record(engine, HISTORY, past, PriceBook("EUR", (PriceEntry(pool=POOL, gpu_hour=PRICE),)), {"node-1": POOL})
    await engine.dispose()


def fill(team: Team, user: str, trainer: PastJob) -> None:
    """The objects of the cluster, as their controllers leave them."""
    runs(team, user)
    waits(team, user)
    fails(team, user)
    models(team, trainer)


def runs(team: Team, user: str) -> None:
    """A job on two nodes, one that says how far it is, and one that has printed nothing for long."""
    status = seen("Running", startTime=ago(HOUR), ready="2/2")
    bert = team.job("bert", user="tomas.k", replicas=2, status=status, gpu="3")
    for index, node in enumerate(("q-a", "q-b")):
        team.pod(f"bert-worker-{index}", bert, node, gpu="3")
    spec = {
        "elastic": {"minReplicas": 1, "maxReplicas": 1, "checkpoint": {}},
        "spot": {"pools": ["spot"], "deadlineSeconds": 90_000, "work": {"seconds": 40_000}},
    }
    progress = {"seconds": 14_900, "durableSeconds": 14_000}
    said = {"mode": "Spot", "progress": progress, "projectedEnd": ago(-7 * HOUR)}
    far = team.job("far", spec, user=user, status={**status, "ready": "1/1", "spot": said}, gpu="2")
    team.pod("far-worker-0", far, "q-b", gpu="2")
    hangs = team.job("hangs", user=user, status={**status, "ready": "1/1"}, gpu="2")
    team.pod("hangs-worker-0", hangs, LOGS, gpu="2")
    state = container({"running": {"startedAt": ago(HOUR)}}, ready=True)
    ready = [{"type": "Ready", "status": "True", "lastTransitionTime": ago(HOUR)}]
    team.pod_status("hangs-worker-0", containerStatuses=[state], conditions=ready)


def waits(team: Team, user: str) -> None:
    """A job of this person that no node has room for."""
    message = "1 of 1 pods waits for a node"
    job = team.job("lora", user=user, queue="gpus", status=seen("Created", message=message), gpu="8")
    team.pod("lora-worker-0", job, "", "Pending", gpu="8")
    nodes = len(NODES) + 1
    said = f"0/{nodes} nodes are available: {nodes} Insufficient nvidia.com/gpu."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
    team.pod_status("lora-worker-0", phase="Pending", conditions=[condition])
    team.job("of-others", user="tomas.k", status=seen("Queuing", message="no quota"), gpu="64")


def fails(team: Team, user: str) -> None:
    """A job of this person whose third replica died first, after an older run that was good; and one of others."""
    ended = {"startTime": ago(3 * HOUR), "completionTime": ago(2 * HOUR)}
    good = team.job("train-8", user=user, replicas=4, status=seen("Succeeded", **ended), image="train:1", gpu="1")
    born = good["metadata"]["creationTimestamp"]
    until("another second", lambda: console_objects.moment() != born, deadline=10)
    now_ended = {"startTime": ago(HOUR), "completionTime": ago(HOUR / 2)}
    status = seen("Failed", message="4 replicas failed", **now_ended)
    job = team.job("train-9", user=user, replicas=4, status=status, image="train:2", gpu="2")
    for index, passed in enumerate((31, 32, 35, 33)):  # minutes since it died
        name = f"train-9-worker-{index}"
        team.pod(name, job, LOGS, "Failed", gpu="2")
        dead = {"exitCode": 1, "reason": "Error", "startedAt": ago(HOUR)}
        dead["finishedAt"] = ago(timedelta(minutes=passed))
        team.pod_status(name, containerStatuses=[container({"terminated": dead})])
    message = "worker 0 ran out of memory"
    team.job("sweep", user="tomas.k", status=seen("Failed", message=message, completionTime=ago(HOUR)))


def seen(state: str, **fields: object) -> Object:
    """The status of a job that the operator looks after."""
    created = {"type": "Created", "status": "True", "reason": "JobCreated", "message": "the job was created"}
    return {"state": state, "conditions": [{**created, "lastTransitionTime": ago(HOUR)}], **fields}


def container(state: Mapping[str, object], *, ready: bool = False) -> Object:
    """The status of the container of a pod."""
    return {"name": "pytorch", "image": "train:1", "imageID": "", "ready": ready, "restartCount": 0, "state": state}


def models(team: Team, trainer: PastJob) -> None:
    """A model with an old version and one that serves; and a service that takes another model's version in steps."""
    for model, revisions in (("summary", ("0ld0ld00aa", "5ee7c0de11")), ("chat", ("c1", "c2"))):
        team.model(model, "", f"{model}-v2", 2)
        for number, revision in enumerate(revisions, 1):
            newest = model == "summary" and number == 2
            origin = {
                "jobKind": "PyTorchJob",
                "jobName": trainer.name if newest else f"{model}-train-{number}",
                **({"jobUid": trainer.uid} if newest else {}),
                "codeRepository": f"https://git.example/nlp/{model}.git",
                "codeRevision": revision,
            }
            image = f"hub.example/{model}@sha256:{f'{number}{len(model)}' * 32}"
            status = {"imageBuildPhase": "ImageBuildSucceeded", "image": image, "size": 1 << 30, "signed": True}
            team.version(f"{model}-v{number}", model, status, createdBy="lucia.m", origin=origin)
    team.service("summary", {"main": ("summary-v2", 100)}, {"predictorStatuses": [predictor("summary-v2")]})
    rollout = {"phase": "Stepping", "stable": "chat-v1", "candidate": "chat-v2", "step": 0, "since": ago(HOUR)}
    steps = {"steps": [{"weight": 20, "pause": 7200}, {"weight": 100}], "analysis": BOUNDS}
    trying = {**predictor("chat-v2"), "rollout": rollout}
    team.service("support", {"main": ("chat-v2", 100)}, {"predictorStatuses": [trying]}, steps)


def predictor(version: str) -> Object:
    """The status of the only predictor of a service."""
    figures = {"replicas": 1, "readyReplicas": 1, "trafficWeight": 100, "trafficPercent": 100}
    return {"name": "main", "modelVersion": version, **figures}


def ago(length: timedelta) -> str:
    """A time before now."""
    return (datetime.now(UTC) - length).strftime("%Y-%m-%dT%H:%M:%SZ")
