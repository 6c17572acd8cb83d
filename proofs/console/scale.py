"""The console with many viewers, jobs, pods and changes: `python -m proofs.console.scale`.

Half of the viewers may list everything, the other half the objects of one team each. Pods are objects in the API
server that nobody runs. Prints what the console uses, how long a change takes to reach a viewer, and how many watches
the API server has. At full size it takes half an hour. The last line is JSON.
"""

import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.environment import say
from harness.drivers import console_objects
from harness.drivers.api_connection import MERGE_PATCH, Connection
from harness.drivers.console_objects import STAYS, TRAINING
from harness.drivers.console_process import ConsoleProcess
from harness.drivers.environment import FULL
from harness.drivers.operator_process import samples
from proofs.console.viewers import Order, Told, Viewers
from proofs.seed import seed
from testbed import cluster_lock, namespaces
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.instance import chosen_index

RIGHTS = "rbac.authorization.k8s.io"
READER = "console-viewers"
SETTLE = 5.0  # seconds


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    viewers: int
    jobs: int
    pods: int
    teams: int
    nodes: int
    rate: float  # changes a second
    seconds: float


SIZE = Size(500, 10_000, 100_000, 20, 100, 100, 600) if FULL else Size(20, 300, 3000, 5, 10, 20, 20)


def main() -> int:
    """Print the figures."""
    with (
        cluster_lock.borrowed(Cluster(chosen_index(), report=say)) as cluster,
        cluster_lock.turn(cluster, alone=True),
        Connection(cluster) as connection,
        ExitStack() as stack,
    ):
        console_objects.define(cluster)
        teams = [stack.enter_context(namespaces.fresh(cluster.api, "team")) for _ in range(SIZE.teams)]
        lobby = stack.enter_context(namespaces.fresh(cluster.api, "lobby"))
        stack.enter_context(readers(connection, lobby, teams))
        offers = {f"scale-{number}": {"cpu": "1000", "memory": "4Ti"} for number in range(SIZE.nodes)}
        stack.enter_context(console_objects.nodes(connection, offers))
        jobs = fill(connection, teams)
        tokens = people(connection, lobby, teams)
        figures = measure(cluster, connection, jobs, tokens)
    print(json.dumps({"viewers": SIZE.viewers, "jobs": SIZE.jobs, "pods": SIZE.pods, **figures}))
    return 0


def measure(cluster: Cluster, connection: Connection, jobs: list[str], tokens: list[str]) -> dict[str, float]:
    """With one viewer, then with all of them while jobs change."""
    with tempfile.TemporaryDirectory(prefix="kubedl-console-scale-") as directory:
        before = watches(cluster)
        began = time.monotonic()
        with ConsoleProcess(cluster, Path(directory)) as console:
            filled = time.monotonic() - began
            with Viewers(Order(console.url, tuple(tokens[:1]))) as one:
                time.sleep(SETTLE)
                with_one = watches(cluster) - before
                one.told()
            with Viewers(Order(console.url, tuple(tokens))) as viewers:
                time.sleep(SETTLE)
                cpu, asked, since = console.cpu_seconds(), _asked(console), time.monotonic()
                sent = connection.run(change(connection, jobs))
                seconds = time.monotonic() - since
                used, asked = console.cpu_seconds() - cpu, _asked(console) - asked
                with_all = watches(cluster) - before
                time.sleep(SETTLE)
                told = viewers.told()
            memory = console.peak_rss_bytes() / 1e6
    return {
        "seconds until the caches are filled": round(filled, 1),
        "changes a second": round(sent / seconds, 1),
        "cores": round(used / seconds, 3),
        "memory MB": round(memory),
        "reviews a second": round(asked / seconds, 1),
        "watches with one viewer": with_one,
        "watches with all viewers": with_all,
        "more watches with all viewers": with_all - with_one,
        **arrivals(told),
    }


def arrivals(told: Told) -> dict[str, float]:
    """What the viewers saw."""
    return {
        "changes seen": sum(told.milliseconds.values()),
        "median seconds": told.quantile(0.5),
        "p99 seconds": told.quantile(0.99),
        "lists": told.lists,
        "cuts": told.cuts,
    }


async def change(connection: Connection, jobs: list[str]) -> int:
    """Change jobs at a steady pace, whether the one before is done or not; returns how many."""
    dice, began, number = random.Random(seed()), time.monotonic(), 0  # noqa: S311 - no secret

    async def stamp(path: str) -> None:
        status = {"state": "Running", "message": f"at {time.time():.3f}"}
        await connection.call("PATCH", f"{path}/status", {"status": status}, MERGE_PATCH)

    async with asyncio.TaskGroup() as group:
        while (now := time.monotonic() - began) < SIZE.seconds:
            if (ahead := number / SIZE.rate - now) > 0:
                await asyncio.sleep(ahead)
            group.create_task(stamp(dice.choice(jobs)))
            number += 1
    return number


def watches(cluster: Cluster) -> int:
    """How many watches the API server serves to anybody, when that no longer changes."""
    seen: list[int] = []
    while len(seen) < 3 or len(set(seen[-3:])) > 1:
        found = samples(cluster.kubectl("get", "--raw", "/metrics"))
        open_ones = (
            value for name, value in found.items() if name.startswith("apiserver_longrunning") and '"WATCH"' in name
        )
        seen.append(int(sum(open_ones)))
        time.sleep(1)
        if len(seen) > 60:
            break
    return seen[-1]


def _asked(console: ConsoleProcess) -> float:
    """How many questions about tokens and rights it has asked."""
    found = samples(console.metrics)
    return sum(value for name, value in found.items() if "reviews" in name and "_total" in name)


def fill(connection: Connection, teams: list[str]) -> list[str]:
    """Create jobs and their pods; returns the addresses of the jobs."""
    template = {"spec": {"containers": [{"name": "pytorch", "image": "train:1"}]}}
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": SIZE.pods // SIZE.jobs, "template": template}}}
    head = {"apiVersion": f"{TRAINING}/v1alpha1", "kind": "PyTorchJob"}
    made: list[str] = []

    async def create(number: int) -> None:
        team, name = teams[number % len(teams)], f"job-{number}"
        path = f"/apis/{TRAINING}/v1alpha1/namespaces/{team}/pytorchjobs"
        job = await connection.call("POST", path, {**head, "metadata": {"name": name}, "spec": spec})
        made.append(f"{path}/{name}")
        for index in range(SIZE.pods // SIZE.jobs):
            await connection.call("POST", f"/api/v1/namespaces/{team}/pods", _pod(job, index, number))

    say(f"{SIZE.jobs} jobs with {SIZE.pods} pods")
    connection.each(range(SIZE.jobs), create)
    return made


def _pod(job: Object, index: int, number: int) -> Object:
    meta = job["metadata"]
    owner = {"apiVersion": job["apiVersion"], "kind": job["kind"], "controller": True}
    owner |= {"name": meta["name"], "uid": meta["uid"]}
    requests = {"cpu": "100m", "memory": "100Mi"}
    container = {"name": "pytorch", "image": "train:1", "resources": {"requests": requests}}
    spec = {"nodeName": f"scale-{(number + index) % SIZE.nodes}", "containers": [container], **STAYS}
    return {"metadata": {"name": f"{meta['name']}-{index}", "ownerReferences": [owner]}, "spec": spec}


def people(connection: Connection, lobby: str, teams: list[str]) -> list[str]:
    """A token for each viewer: every second one may see all, the others one team."""
    tokens: list[str] = []

    async def create(number: int) -> None:
        home = lobby if number % 2 == 0 else teams[number % len(teams)]
        path, name = f"/api/v1/namespaces/{home}/serviceaccounts", f"viewer-{number}"
        await connection.call("POST", path, {"metadata": {"name": name}})
        made = await connection.call("POST", f"{path}/{name}/token", {"spec": {}})
        tokens.append(made["status"]["token"])

    connection.each(range(SIZE.viewers), create)
    return tokens


@contextmanager
def readers(connection: Connection, lobby: str, teams: list[str]) -> Iterator[None]:
    """Accounts of the lobby may list everything, those of a team what is in its namespace."""
    root, name = f"/apis/{RIGHTS}/v1", {"name": f"{READER}-{lobby}"}
    connection.create(f"{root}/clusterroles", {"metadata": name, "rules": list(console_objects.EVERYTHING)})
    role = {"apiGroup": RIGHTS, "kind": "ClusterRole", **name}

    def binding(home: str) -> Object:
        group = {"apiGroup": RIGHTS, "kind": "Group", "name": f"system:serviceaccounts:{home}"}
        return {"metadata": name, "roleRef": role, "subjects": [group]}

    try:
        connection.create(f"{root}/clusterrolebindings", binding(lobby))
        for team in teams:
            connection.create(f"{root}/namespaces/{team}/rolebindings", binding(team))
        yield
    finally:
        for kind in ("clusterroles", "clusterrolebindings"):
            connection.delete(f"{root}/{kind}/{name['name']}")


if __name__ == "__main__":
    sys.exit(main())
