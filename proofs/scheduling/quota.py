"""Is the quota of a queue ever exceeded, whatever happens to the operator? `python -m proofs.scheduling.quota`.

Jobs of one to three pods, of two priorities, in a queue for a few of them; the operator is killed at random moments.
The API server's log has every write to a Workload that was answered, a watch those too whose operator was killed before
the answer, and another every pod: after each of them the sum is compared with the quota. The last line is JSON; SEED
repeats what was drawn.
"""

import contextlib
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import aiohttp

from benchmarks.environment import FULL, fresh_namespace, say
from harness.drivers import audit_log, quota_log, team_queue
from harness.drivers.api_connection import Connection
from harness.drivers.operator_process import Operator
from harness.drivers.team_queue import RESOURCE
from proofs.scheduling.queued_jobs import TRAINING, Order, submit
from proofs.scheduling.stage import kueue_stage
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until

JOBS = int(os.environ.get("JOBS", "1000" if FULL else "60"))
QUOTA = 20
LIFE = 6.0  # seconds that an operator lives at most after it is ready; one in ten is killed while it starts
ENDED = ("Succeeded", "Failed")
WATCH = "watch=1&allowWatchBookmarks=true"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces"


def main() -> int:
    """Measure."""
    seed = int(os.environ.get("SEED", random.SystemRandom().randrange(2**32)))
    say(f"SEED={seed}")
    dice = random.Random(seed)  # noqa: S311  repeatable
    with kueue_stage() as cluster, fresh_namespace(cluster) as namespace, Connection(cluster) as connection:
        print(json.dumps({"seed": seed, **measure(cluster, namespace, connection, dice)}))
    return 0


def measure(cluster: Cluster, namespace: str, connection: Connection, dice: random.Random) -> dict[str, float]:
    """Run them all, and judge every moment of it."""
    begin = audit_log.now()
    team_queue.publish(cluster.api, namespace, QUOTA, team_queue.RESOURCE, {"type": "kwok"})
    pods, workloads = PodCount(), WorkloadWrites()
    for path, seen in (
        (f"/api/v1/namespaces/{namespace}/pods", pods),
        (f"{WORKLOADS}/{namespace}/workloads", workloads),
    ):
        connection.background(partial(_follow, connection, path, seen))
    orders = [
        Order(
            f"job-{number}", dice.randint(1, 3), "high" if dice.random() < 0.3 else "low", f"{dice.randint(0, 2000)}ms"
        )
        for number in range(JOBS)
    ]
    began = time.monotonic()
    kills = 0
    with Operator(cluster, arguments=("--namespace", namespace)) as operator:
        # The rest comes while others run, so that those of a higher priority find somebody to preempt.
        batches = [orders[start : start + QUOTA] for start in range(0, len(orders), QUOTA)]
        for batch in batches:
            submit(connection, namespace, batch)
            kills += _live_and_die(operator, dice)
        while (done := len(_jobs(connection, namespace, *ENDED))) < JOBS:
            say(f"{done} of {JOBS} jobs have ended, {kills} operators were killed")
            kills += _live_and_die(operator, dice)
            if time.monotonic() - began > 2 * JOBS + 300:
                raise TimeoutError(f"{Counter(map(_state, _jobs(connection, namespace)))} after {2 * JOBS + 300} s")
        until("the last pod to end", lambda: not pods.alive, deadline=60)
    logged = set(quota_log.changes(cluster, namespace, RESOURCE, begin))
    history = sorted(logged | workloads.changes)
    if quota_log.peaks(history)[""] > QUOTA:
        _explain(history)
    jobs = _jobs(connection, namespace)
    return {
        "jobs": JOBS,
        "succeeded": sum(_state(job) == "Succeeded" for job in jobs),
        "retries": sum(job["status"].get("retries", 0) for job in jobs),
        "operators killed": kills,
        "evictions": _evictions(history),
        "writes to Workloads": len(history),
        "not answered": len(workloads.changes - logged),
        "logged, not watched": len(logged - workloads.changes),
        "most quota in use": quota_log.peaks(history)[""],
        "most pods at once": pods.most,
        "over quota": max(0.0, quota_log.peaks(history)[""] - QUOTA) + max(0, pods.most - QUOTA),
        "seconds": round(time.monotonic() - began, 1),
    }


class PodCount:
    """How many pods of a namespace used their quota at any moment: those that have not ended."""

    def __init__(self) -> None:
        self.alive: set[str] = set()
        self.most = 0

    def __call__(self, kind: str, pod: Object) -> None:
        """Count one event of the watch."""
        uid = pod["metadata"]["uid"]
        if kind == "DELETED" or pod["status"].get("phase") in ENDED:
            self.alive.discard(uid)
        else:
            self.alive.add(uid)
        self.most = max(self.most, len(self.alive))


class WorkloadWrites:
    """Every write to a Workload of a namespace that was stored."""

    def __init__(self) -> None:
        self.changes: set[quota_log.Change] = set()

    def __call__(self, kind: str, workload: Object) -> None:
        """Keep one event of the watch."""
        if kind != "DELETED":
            self.changes.add(quota_log.observed(workload, RESOURCE))


async def _follow(connection: Connection, path: str, seen: Callable[[str, Object], None]) -> None:
    """Watch until the connection is closed, without a gap: each stream goes on where the one before has ended."""
    version = (await connection.call("GET", f"{path}?limit=1"))["metadata"]["resourceVersion"]
    while True:
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with connection.stream(f"{path}?{WATCH}&resourceVersion={version}", 600) as response:
                response.raise_for_status()
                async for line in response.content:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        raise RuntimeError(f"the watch of {path} has a gap: {event['object'].get('message')}")
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        seen(event["type"], event["object"])


def _live_and_die(operator: Operator, dice: random.Random) -> int:
    if dice.random() >= 0.1:
        operator.wait_ready(deadline=60)
    time.sleep(dice.uniform(0, LIFE))
    operator.kill()
    operator.start()
    return 1


def _explain(history: list[quota_log.Change]) -> None:
    """Tell how the quota came to be exceeded: by the writes before, of whoever held some then."""
    end = next(number for number in range(len(history)) if quota_log.peaks(history[: number + 1])[""] > QUOTA)
    held = {change.name: change for change in history[: end + 1]}
    names = {name for name, change in held.items() if change.held} | {history[end].name}
    for change in history[max(0, end - 60) : end + 10]:
        if change.name in names:
            say(str(change))


def _evictions(history: list[quota_log.Change]) -> int:
    before: dict[str, bool] = {}
    found = 0
    for change in history:
        found += change.evicted and not before.get(change.name, False)
        before[change.name] = change.evicted
    return found


def _jobs(connection: Connection, namespace: str, *states: str) -> list[Object]:
    found: list[Object] = connection.get(f"{TRAINING}/namespaces/{namespace}/pytorchjobs")["items"]
    return [job for job in found if not states or _state(job) in states]


def _state(job: Object) -> str:
    state: str = (job.get("status") or {}).get("state", "")
    return state


if __name__ == "__main__":
    sys.exit(main())
