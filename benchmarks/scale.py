"""One operator and very many pods: its memory, its processor time under a stream of events, and its restart.

Pods run on simulated nodes: kwok plays the kubelet and makes each of them Running and Ready. All pods of a
job are pinned to one node, because the default scheduler binds 50 a second and is not what is measured; and
they tolerate a node that misses a heartbeat, which a busy machine may cause.
"""

import argparse
import asyncio
import json
import math
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import objects, report
from benchmarks.creation import MEGABYTE, Figures
from benchmarks.environment import FULL, stage, wait_idle
from benchmarks.objects import Object
from benchmarks.ramp import bring_up
from harness.drivers import audit_log
from harness.drivers.operator_process import ROOT, USER, Operator
from harness.drivers.process import Process
from testbed import namespaces
from testbed.cluster import Cluster
from testbed.errors import TestbedError

PODS_OF_A_NODE = 1000  # a simulated node takes 1,100
SLOWEST = 15.0  # pods a second, below which it is given up
READY = 600.0  # far above the bar, so that a miss is a figure and not an error
TOLERATIONS = [
    {"key": "kwok.x-k8s.io/node", "operator": "Exists"},
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
    {"key": "node.kubernetes.io/unreachable", "operator": "Exists"},
]


@dataclass(frozen=True)
class Size:
    """How much of everything."""

    jobs: int
    pods: int  # of each job
    rate: float  # events a second
    seconds: float  # for which they come
    minutes: float  # of rest

    @property
    def all_pods(self) -> int:
        return self.jobs * self.pods

    @property
    def nodes(self) -> int:
        """How many simulated nodes hold them."""
        return math.ceil(self.all_pods / PODS_OF_A_NODE)


def measure(cluster: Cluster, size: Size) -> Figures:
    """Bring the jobs up, then look at the operator at rest, under events, and over a restart."""
    wanted = [scaled_job(number, size) for number in range(size.jobs)]
    with (
        tempfile.TemporaryDirectory(prefix="kubedl-bench-") as directory,
        namespaces.fresh(cluster.api, "scale") as namespace,  # whose end is not waited for: it takes many minutes
        Operator(cluster, directory=Path(directory)) as operator,
    ):
        idle, began = operator.rss_bytes(), time.monotonic()
        deadline = 120 + size.all_pods / SLOWEST
        asyncio.run(bring_up(cluster, namespace, wanted, lambda seen: _ready(seen, size.pods), deadline))
        figures: Figures = {"benchmark": "scale", "jobs": size.jobs, "pods": size.all_pods}
        figures |= {"bring up s": round(time.monotonic() - began), "bring up cpu s": round(operator.cpu_seconds(), 1)}
        wait_idle(operator, deadline=600)
        figures |= _memory(operator, idle, "")
        figures |= _rest(cluster, operator, size)
        figures |= _events(cluster, operator, namespace, size)
        grown = round(operator.peak_rss_bytes() / MEGABYTE)
        figures |= _restart(cluster, operator)
        figures |= _memory(operator, idle, "restarted ")
        figures["peak rss MB"] = max(grown, round(operator.peak_rss_bytes() / MEGABYTE))  # of both processes
        return figures


def scaled_job(number: int, size: Size) -> Object:
    """A job whose pods all run on one simulated node."""
    job = objects.job(number, size.pods)
    spec = job["spec"]["tfReplicaSpecs"][objects.ROLE]["template"]["spec"]
    del spec["schedulingGates"]
    spec |= {"nodeName": f"kwok-{1 + number % size.nodes}", "tolerations": TOLERATIONS}
    return job


def main() -> int:
    """Measure, and print one JSON line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000 if FULL else 100)
    parser.add_argument("--pods", type=int, default=10, help="of each job")
    parser.add_argument("--rate", type=float, default=1000 if FULL else 100, help="pod events a second")
    parser.add_argument("--seconds", type=float, default=60 if FULL else 10, help="for which they come")
    parser.add_argument("--minutes", type=float, default=10 if FULL else 0.2, help="of rest")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    chosen = parser.parse_args()
    size = Size(chosen.jobs, chosen.pods, chosen.rate, chosen.seconds, chosen.minutes)
    with stage(kwok=size.nodes) as cluster:
        figures = measure(cluster, size)
    if chosen.write:
        rows = list(figures.items())[1:]
        report.write("scale", "python -m benchmarks.scale --write", report.table(["figure", "measured"], rows))
    print(json.dumps(figures))
    return 0


def _ready(status: Object, pods: int) -> bool:
    replicas = (status.get("replicaStatuses") or {}).get(objects.ROLE) or {}
    return bool(replicas.get("ready") == pods)


def _memory(operator: Operator, idle: int, when: str) -> Figures:
    return {
        f"{when}rss MB": round(operator.rss_bytes() / MEGABYTE),
        f"{when}rss over idle MB": round((operator.rss_bytes() - idle) / MEGABYTE),
    }


def _rest(cluster: Cluster, operator: Operator, size: Size) -> Figures:
    """Nothing happens, so nothing may be written."""
    cpu, since = operator.cpu_seconds(), audit_log.now()
    time.sleep(size.minutes * 60)
    return {
        "minutes at rest": size.minutes,
        "writes at rest": len(audit_log.writes(cluster, USER, since)),
        "cores at rest": round((operator.cpu_seconds() - cpu) / (size.minutes * 60), 4),
    }


def _events(cluster: Cluster, operator: Operator, namespace: str, size: Size) -> Figures:
    """A stream of events that ask for nothing. What the API server cannot deliver is not extrapolated silently."""
    command = [sys.executable, "-m", "benchmarks.event_load", f"--namespace={namespace}"]
    command += [f"--jobs={size.jobs}", f"--pods={size.pods}", f"--rate={size.rate}", f"--seconds={size.seconds}"]
    environment = {"INSTANCE": str(cluster.instance.index)}
    ticks = Process(command, operator.log_file.parent / "ticks.log", environment, ROOT)
    cpu, since = operator.cpu_seconds(), audit_log.now()
    ticks.start()
    code = ticks.wait_ended(deadline=size.seconds + 120)
    if code:
        raise TestbedError(f"the stream of events ended with {code}: {ticks.tail()}")
    wait_idle(operator)
    spent = operator.cpu_seconds() - cpu
    said = json.loads(ticks.log().splitlines()[-1])
    return {
        "events/s": round(said["patches"] / said["seconds"]),
        "cores under events": round(spent / said["seconds"], 3),
        "cores per 1,000 events/s": round(1000 * spent / said["patches"], 3),
        "writes under events": len(audit_log.writes(cluster, USER, since)),
    }


def _restart(cluster: Cluster, operator: Operator) -> Figures:
    """Killed, started, ready; then until it has looked at every job and rests."""
    since = audit_log.now()
    operator.kill()
    began = time.monotonic()
    operator.restart(deadline=READY)
    ready = time.monotonic()
    wait_idle(operator, deadline=READY)
    return {
        "restart to ready s": round(ready - began, 1),
        "restart to rest s": round(time.monotonic() - began - 1, 1),  # a second of rest is how rest is known
        "writes at restart": len(audit_log.writes(cluster, USER, since)),
    }


if __name__ == "__main__":
    sys.exit(main())
