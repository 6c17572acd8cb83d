"""The cluster that the states of pages are looked at in: an object of every kind, people, a database, a Prometheus."""

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from harness.drivers import console_objects
from harness.drivers.api_connection import Connection, unless_gone
from harness.drivers.console_objects import EVERYTHING, Team
from harness.drivers.console_process import rights_everywhere, token_of
from harness.drivers.recorded_past import PastJob, record
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.price_book import PriceBook
from proofs.console.states_pages import GONE
from testbed.api import ApiError
from testbed.cluster import Cluster
from testbed.waiting import until

CLUSTER = "kubedl"  # in the history, by default
QUEUE = "states-shared"
KUEUE_KINDS = ("clusterqueues", "localqueues", "workloads")
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NODES = {
    "states-a": {"cpu": "32", "memory": "256Gi", "gpu": "8"},
    "states-b": {"cpu": "16", "memory": "64Gi", "gpu": "4"},
}
ACTIVE = {"type": "Active", "status": "True", "reason": "Ready", "message": ""}


@dataclass(frozen=True)
class Scene:
    """One team, and what its objects are made with."""

    cluster: Cluster
    connection: Connection
    team: Team
    uid: str  # of the deleted job

    def fill(self) -> None:
        """An object of every kind but those of Kueue."""
        team = self.team
        bert = team.job("bert", user="mei.lin", replicas=2, status={"state": "Running"}, cpu="4", gpu="3")
        team.pod("bert-worker-0", bert, "states-a", cpu="4", memory="8Gi", gpu="3")
        team.pod("bert-worker-1", bert, "states-b", cpu="4", memory="8Gi", gpu="4")
        waits = {"state": "Queuing", "message": "2 of 2 pods wait: no node has 8 free GPUs"}
        team.job("llama-lora", user="priya.n", replicas=2, status=waits, gpu="8")
        failed = team.job("resnet", user="tomas.k", status={"state": "Failed", "message": "out of memory"}, cpu="1")
        team.event("resnet-1", failed, "PyTorchJob", "Failed", "worker-3 ran out of memory")
        team.model("chat", "answers questions", "chat-v1", 1)
        origin = {"jobKind": "PyTorchJob", "jobName": "bert"}
        team.version("chat-v1", "chat", {"imageBuildPhase": "ImageBuildSucceeded", "image": "chat:1"}, origin=origin)
        main = {"name": "main", "modelVersion": "chat-v1", "trafficPercent": 100, "replicas": 1, "readyReplicas": 1}
        team.service("front", {"main": ("chat-v1", 100)}, {"predictorStatuses": [main]})
        team.cron("nightly", {})

    def add_queues(self) -> None:
        """A queue with a Workload that waits."""
        used = [{"name": "a100", "resources": [{"name": "cpu", "total": "6"}]}]
        status = {"flavorsUsage": used, "pendingWorkloads": 1, "admittedWorkloads": 2, "conditions": [_since(ACTIVE)]}
        console_objects.cluster_queue(self.connection, QUEUE, {"cpu": "10"}, status)
        self.team.local_queue("gpus", QUEUE, {"pendingWorkloads": 1, "conditions": [_since(ACTIVE)]})
        self.team.workload("waits-for-quota", "gpus", "couldn't assign flavors", cpu="8")

    def silence_kueue(self) -> None:
        """Queues that a Kueue which is stopped has never seen."""
        console_objects.cluster_queue(self.connection, f"{QUEUE}-new", {"cpu": "10"}, {})
        self.team.local_queue("new", f"{QUEUE}-new", {})

    def remove_queues(self) -> None:
        """Those that are in no namespace."""
        for name in (QUEUE, f"{QUEUE}-new"):
            with unless_gone(), suppress(ApiError):
                self.connection.delete(f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{name}")

    def uninstall_kueue(self) -> None:
        """Its kinds, as far as the console shows them; `console_objects.define` brings them back."""
        for plural in KUEUE_KINDS:
            with unless_gone():
                self.connection.delete(f"{DEFINITIONS}/{plural}.kueue.x-k8s.io")
        until("the kinds of Kueue to be gone", lambda: not self._kueue_kinds(), deadline=60)

    def _kueue_kinds(self) -> list[str]:
        names = [one["metadata"]["name"] for one in self.connection.get(DEFINITIONS)["items"]]
        return [name for name in names if name.partition(".")[0] in KUEUE_KINDS and name.endswith("kueue.x-k8s.io")]

    def record_past(self, url: str) -> None:
        """Let the history have a job that was deleted."""
        asyncio.run(self._recorded(url))

    async def _recorded(self, url: str) -> None:
        engine, began = create_engine(parse_url(url)), datetime.now(UTC) - timedelta(days=1)
        job = PastJob(self.team.namespace, GONE, began, user="mei.lin", event="has succeeded", uid=self.uid)
        await record(engine, CLUSTER, [job], PriceBook("EUR"), {"node-1": "a100"})
        await engine.dispose()

    @contextmanager
    def nodes(self) -> Iterator[None]:
        """Nodes, which are alive while the block runs, and come back after an API server that could not hear so."""
        with console_objects.nodes(self.connection, NODES):
            yield

    @contextmanager
    def person(self, name: str) -> Iterator[tuple[str, ExitStack]]:
        """Somebody who may see everything: a token, and what takes the rights away when it is closed."""
        token = token_of(self.cluster, self.team.namespace, name)
        with ExitStack() as rights:
            rights.enter_context(rights_everywhere(self.cluster, self.team.namespace, name, *EVERYTHING))
            yield token, rights


def new_scene(cluster: Cluster, connection: Connection, namespace: str) -> Scene:
    """A scene without objects."""
    return Scene(cluster, connection, Team(connection, namespace), str(uuid.uuid4()))


def _since(condition: dict[str, str]) -> dict[str, str]:
    return {**condition, "lastTransitionTime": console_objects.moment()}
