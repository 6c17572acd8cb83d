"""Jobs that mean harm beside honest ones: `python -m proofs.defects.hostile_tenant`.

From a namespace of its own come annotations of 256 KiB, 10,000 replicas, templates nested 5,000 deep, git addresses of
every shape, pods with the uid of honest jobs, and pods whose labels are taken off. What the API server refuses has done
no harm. The namespace has a quota of pods, as an administrator sets it who shares a cluster: without one, whoever may
create pods needs no operator to fill the cluster. Pods run on simulated nodes.
"""

import asyncio
import itertools
import json
import math
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from benchmarks import objects
from benchmarks.api_connection import Connection, connect, in_flight
from benchmarks.creation import MEGABYTE
from benchmarks.environment import FULL, say, stage, wait_idle
from benchmarks.objects import Object
from benchmarks.scale import PODS_OF_A_NODE, Size, scaled_job
from harness.drivers.operator_process import Operator
from proofs.defects.alternation import PODS, Meanwhile, a_namespace, alternating, healthy, timed
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.waiting import until

HOSTILE, HONEST, QUOTA = (200, 200, 200) if FULL else (14, 14, 30)
LONGEST = 262_144 - 200  # bytes of a git address: the API server takes 256 KiB of annotations
LARGEST, DEEPEST = 10_000, 5_000
GIT = "kubedl.io/git-sync-config"
SHAPES = (":", "://", "a@", "/a", "[", "-a", "a.", "@:", "http://", "ext::", "%00", "é")
NESTED = '"nested"'  # a mark in the JSON text: no encoder writes what is so deep
TEMPLATE = Size(HOSTILE, 1, 0, 0, 0)


def hostile(number: int, dice: random.Random) -> Object:
    """One of seven kinds of harm, in turn."""
    job = scaled_job(number, TEMPLATE)
    job["metadata"]["name"] = f"evil-{number}"
    worker: Object = job["spec"]["tfReplicaSpecs"][objects.ROLE]
    worker["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    match number % 7:
        case 0:
            address = f"x://{dice.choice(SHAPES) * LONGEST}".encode()[:LONGEST].decode(errors="ignore")
            job["metadata"]["annotations"] = {GIT: json.dumps({"source": address}, ensure_ascii=False)}
        case 1:
            worker["replicas"] = LARGEST  # more than TF_CONFIG can name
        case 2:
            worker["template"]["spec"]["containers"][0]["x"] = json.loads(NESTED)
        case 3:
            short = "".join(dice.choices(SHAPES, k=dice.randrange(1, 40)))
            job["metadata"]["annotations"] = {GIT: json.dumps({"source": f"ssh://{short}", "branch": short})}
        case 4:
            job["metadata"]["annotations"] = {"kubedl.io/tensorboard-config": json.dumps({"logDir": "/" * 250_000})}
        case 5:
            return _pytorch(job, worker)
        case _:
            worker["replicas"] = 20  # whose labels are taken off
    return job


def _pytorch(job: Object, worker: Object) -> Object:
    """A job that may have 10,000 workers."""
    worker["template"]["spec"]["containers"][0]["name"] = "pytorch"
    roles = {"Master": {**worker, "replicas": 1}, "Worker": {**worker, "replicas": LARGEST}}
    return {**job, "kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": roles}}


class Tenant:
    """Whoever means harm, and how often the API server took it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.taken, self.refused, self.foreign, self.unlabelled = 0, 0, 0, 0

    @contextmanager
    def attacks(self) -> Iterator[Meanwhile]:
        """All hostile jobs are there, and the harm goes on while honest ones start; then all of it is removed."""
        with a_namespace(self._cluster) as namespace, a_namespace(self._cluster) as second:
            for one in (namespace, second):
                _set_quota(self._cluster, one)
            asyncio.run(self._create(namespace))
            say(f"  hostile jobs: {self.taken} taken, {self.refused} refused")
            yield partial(self._harass, namespace, second)

    async def _create(self, namespace: str) -> None:
        dice = random.Random(1)  # noqa: S311 - no secret

        async def create(number: int) -> None:
            job = hostile(number, dice)
            path = objects.jobs_path(namespace)
            if job["kind"] != objects.KIND:
                path = path.replace(objects.PLURAL, "pytorchjobs")
            text = json.dumps(job, ensure_ascii=False).replace(NESTED, '{"a":' * DEEPEST + "1" + "}" * DEEPEST)
            headers = {"Content-Type": "application/json"}
            async with connection.session.post(path, data=text.encode(), headers=headers) as answer:
                await answer.read()
                self.taken += answer.status < 300
                self.refused += answer.status >= 300

        async with connect(self._cluster) as connection:
            await in_flight(range(HOSTILE), create, 8)

    async def _harass(self, namespace: str, second: str, honest: str) -> None:
        """Its jobs fill the quota of one namespace, so pods that it makes by itself are in another."""
        async with connect(self._cluster, connections=2) as connection:
            for turn in itertools.count():
                await self._imitate(connection, second, honest, turn)
                await self._unlabel(connection, namespace)
                await asyncio.sleep(1)

    async def _imitate(self, connection: Connection, namespace: str, honest: str, turn: int) -> None:
        """Pods that name honest jobs as their owners, by uid."""
        for job in (await connection.get(objects.jobs_path(honest), limit="10"))["items"]:
            pod = objects.pod({**job, "metadata": {**job["metadata"], "namespace": namespace}}, turn, 1)
            with suppress(TestbedError):
                await connection.create(objects.pods_path(namespace), pod)
                self.foreign += 1

    async def _unlabel(self, connection: Connection, namespace: str) -> None:
        path, label = objects.pods_path(namespace), f"{objects.GROUP}/job-name"
        for pod in (await connection.get(path, labelSelector=label, limit="10"))["items"]:
            with suppress(TestbedError):
                await connection.patch(f"{path}/{pod['metadata']['name']}", {"metadata": {"labels": {label: None}}})
                self.unlabelled += 1


def _set_quota(cluster: Cluster, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    cluster.api.create(path, {"metadata": {"name": "pods"}, "spec": {"hard": {"pods": str(QUOTA)}}})
    until("the quota to count", lambda: cluster.api.get(f"{path}/pods").get("status", {}).get("used"), deadline=60)


def measure(cluster: Cluster) -> Object:
    """Honest jobs without and with the attack, in turns."""
    jobs, tenant = healthy(HONEST), Tenant(cluster)
    with (
        tempfile.TemporaryDirectory(prefix="kubedl-hostile-") as directory,
        Operator(cluster, directory=Path(directory)) as operator,
    ):
        pid = operator.pid
        timed(cluster, jobs[: HONEST // 2])  # code that runs for the first time is slower
        wait_idle(operator)
        idle = operator.rss_bytes()
        turns = alternating(cluster, jobs, tenant.attacks, lambda: wait_idle(operator))
        operator.insist()
        return {
            "hostile jobs taken": tenant.taken,
            "refused at admission": tenant.refused,
            "pods with foreign uids": tenant.foreign,
            "pods without labels": tenant.unlabelled,
            "honest": HONEST,
            **turns.figures(),
            "grown MB": round((operator.peak_rss_bytes() - idle) / MEGABYTE),
            "ended": int(operator.pid != pid),  # and `insist` raises
        }


def main() -> int:
    """Measure, and print one JSON line."""
    with stage(kwok=1 + math.ceil(2 * HONEST * PODS / PODS_OF_A_NODE)) as cluster:
        print(json.dumps(measure(cluster)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
