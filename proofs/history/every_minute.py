"""A PyTorchJob every minute, by the clock: `python -m proofs.history.every_minute`.

Three runs succeed, one after another, and `historyLimit` keeps two of them. The last line is JSON.
"""

import datetime
import json
import sys
from itertools import pairwise

from harness.drivers.environment import Stage, stage
from harness.drivers.proxied_operator import ProxiedOperator
from harness.fakes.scheduled import PlayedCron
from harness.scenarios.driver import ScenarioDriver, ended
from kubedl.api.cron import SCHEDULED_TIME
from testbed import cluster_lock, namespaces
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until

RUNS, LIMIT = 3, 2
DEADLINE = 70.0 * RUNS + 30


class EveryMinute:
    """One Cron, and the kubelet of its runs, which end as soon as they have a pod."""

    def __init__(self, world: ScenarioDriver) -> None:
        self._world = world
        self.cron = PlayedCron(world)
        self.times: dict[str, datetime.datetime] = {}  # of runs that ended, by name
        self.delays: list[float] = []  # from the scheduled time to the creation of the job, by the server's clock

    def start(self) -> None:
        """A user makes the Cron."""
        body = self.cron.body(schedule="* * * * *", historyLimit=LIMIT)
        self._world.watcher.connection.create(self.cron.collection, body)

    def end_runs(self) -> bool:
        """Let pods that are there succeed; returns whether enough have."""
        self._world.until("the operator", lambda: True)
        watcher, namespace = self._world.watcher, self._world.namespace
        for name, job in watcher.all("pytorchjobs", namespace).items():
            pod = f"{name}-master-0"
            if name in self.times or watcher.get("pods", namespace, pod) is None:
                continue
            status = {"status": ended("PyTorchJob", 0)}
            watcher.connection.patch(f"/api/v1/namespaces/{namespace}/pods/{pod}/status", status)
            meta = job["metadata"]
            self.times[name] = datetime.datetime.fromisoformat(meta["annotations"][SCHEDULED_TIME])
            created = datetime.datetime.fromisoformat(meta["creationTimestamp"])
            self.delays.append((created - self.times[name]).total_seconds())
        return len(self.times) >= RUNS and self.cron.ended() == ["Succeeded"] * LIMIT and self.kept() == LIMIT

    def kept(self) -> int:
        """How many jobs there are."""
        return len(self._world.watcher.all("pytorchjobs", self._world.namespace))


def measure(ready: Stage, namespace: str) -> dict[str, object]:
    """Wait for three runs, and say how they were."""
    arguments = ("--no-leader-election", "--namespace", namespace)
    with ProxiedOperator(ready, namespace, arguments) as operator:
        operator.start()
        world = ScenarioDriver(ready.watcher, namespace, ready.node, tend=operator.insist)
        minutes = EveryMinute(world)
        minutes.start()
        until(f"{RUNS} runs, of which {LIMIT} are kept", minutes.end_runs, deadline=DEADLINE, interval=0.1)
        kept = minutes.kept()
    moments = sorted(minutes.times.values())
    apart = {(later - earlier).total_seconds() for earlier, later in pairwise(moments)}
    return {"runs": len(moments), "kept": kept, "apart s": sorted(apart), "latest s": max(minutes.delays)}


def main() -> int:
    """Print the figures."""
    with (
        cluster_lock.borrowed(Cluster(chosen_index())) as cluster,
        stage(cluster) as ready,
        namespaces.fresh(cluster.api, "minutes") as namespace,
    ):
        figures = measure(ready, namespace)
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
