"""Six situations of waiting on two nodes, with a real Kueue and a real scheduler: each job says what it awaits."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from harness.drivers import team_queue
from harness.drivers.operator_process import Operator, kubeconfig_through
from harness.drivers.team_queue import PRIORITY_LABEL, QUEUE, QUEUE_LABEL
from testbed import namespaces
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.faultproxy import AnswerInstead, FaultProxy, Match
from testbed.waiting import until
from tests.cluster.slot_jobs import NODES, PODS, SlotJobs

LATEST = 120.0  # seconds within which a job says it


class Waiting(SlotJobs):
    """With a queue whose quota suffices for one job, on nodes with room for two."""

    def submit(self, name: str, priority: str = "low", queue: str = QUEUE) -> None:
        self.create(name, {QUEUE_LABEL: queue, PRIORITY_LABEL: f"{self.namespace}-{priority}"})

    def condition(self, name: str) -> Object:
        said: list[Object] = self.status(name).get("conditions", [])
        return next((one for one in said if one["type"] == "PodsReady"), {"status": "", "reason": "", "message": ""})

    def awaits(self, name: str, reason: str, *words: str) -> bool:
        """Whether the condition and the column name the cause."""
        condition, column = self.condition(name), self.status(name).get("message", "")
        said = (condition["status"], condition["reason"]) == ("False", reason) and column.startswith(reason)
        return said and all(word in condition["message"] for word in words)

    def runs(self, name: str) -> bool:
        return bool(self.status(name).get("state") == "Running" and self.placed()[name] == PODS)

    def delete_pod(self, name: str) -> None:
        self.cluster.api.delete(f"/api/v1/namespaces/{self.namespace}/pods/{name}")


@pytest.fixture
def waiting(control_plane: Cluster, namespace: str) -> Iterator[Waiting]:
    """Ready for jobs."""
    control_plane.up(kwok=NODES, keep=False)
    control_plane.add_kueue()
    made = Waiting(control_plane, namespace)
    team_queue.publish(control_plane.api, namespace, PODS, made.slot, {"type": "kwok"})
    with Operator(control_plane, arguments=("--namespace", namespace)):
        made.offer(PODS)
        yield made
        made.offer(None)


@pytest.fixture
def without_kueue(control_plane: Cluster, proxy: FaultProxy, tmp_path: Path) -> Iterator[Waiting]:
    """Before an API server that answers as one does which does not know the kinds of Kueue."""
    proxy.inject(Match(resource="workloads", times=None), AnswerInstead(404))
    kubeconfig = kubeconfig_through(control_plane, proxy.url, tmp_path / "kubeconfig")
    with (
        namespaces.fresh(control_plane.api, "awaited") as namespace,
        Operator(control_plane, kubeconfig=kubeconfig, arguments=("--namespace", namespace)),
    ):
        yield Waiting(control_plane, namespace)


def test_a_job_says_what_it_awaits(
    waiting: Waiting, without_kueue: Waiting, record_property: Callable[[str, object], None]
) -> None:
    """The cause in each, and who holds what is missing; the column QUEUE has the queue."""
    told = 0

    def tells(name: str, reason: str, *words: str, where: Waiting = waiting) -> None:
        nonlocal told
        try:
            until(f"{name} to say what it awaits", partial(where.awaits, name, reason, *words), deadline=LATEST)
        except TimeoutError as error:
            error.add_note(str(where.status(name)))
            raise
        told += 1
        print(f"{name}: {where.status(name)['message']}\n    {where.condition(name)['message']}")

    without_kueue.create("absent", {QUEUE_LABEL: QUEUE})
    waiting.submit("lost", queue="nowhere")
    waiting.submit("first")
    until("the first to run", partial(waiting.runs, "first"), deadline=120)
    waiting.submit("second")
    gang = {"gangScheduler": "native"}
    waiting.create("half", restartScope="Replica", schedulingPolicy=gang)
    until("the gang to be placed", partial(waiting.runs, "half"), deadline=120)
    waiting.create("large")
    short = f"without free {waiting.slot}"
    tells("absent", "KueueNotAvailable", "queue team", "the cluster has no Kueue", where=without_kueue)
    tells("lost", "Inadmissible", "LocalQueue nowhere doesn't exist")
    tells("large", "Unschedulable", "4 of 4 pods are not running", short, "Insufficient")
    holder = f"quota held by PyTorchJob first ({PODS} {waiting.slot})"
    tells("second", "QuotaPending", "position 1 in queue team", holder, "insufficient unused quota")
    waiting.delete("large")
    waiting.offer(PODS - 1)
    waiting.delete_pod("half-worker-0")
    tells("half", "Unschedulable", "3 of 4 pods of the gang are placed (native)", "waiting over", short)
    waiting.submit("urgent", "high")
    holder = f"quota held by PyTorchJob urgent ({PODS} {waiting.slot})"
    tells("first", "QuotaPending", "in queue team", "preempted by PyTorchJob urgent", holder)
    table = waiting.cluster.kubectl("get", "pytorchjobs", "-n", waiting.namespace, "-o", "wide")
    columns = {line.split()[0]: line.split()[-1] for line in table.splitlines()}
    assert [columns[name] for name in ("NAME", "second", "lost")] == ["QUEUE", QUEUE, "nowhere"], table
    record_property("told", told)
