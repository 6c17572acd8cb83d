"""Jobs in queues of a real Kueue: admitted by quota and priority, and evicted without a retry."""

from collections.abc import Iterator
from functools import partial

import pytest

from harness.drivers import team_queue
from harness.drivers.operator_process import Operator
from harness.drivers.team_queue import PRIORITY_LABEL, QUEUE, QUEUE_LABEL
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.cluster.slot_jobs import NODES, PODS, SlotJobs


class Queued(SlotJobs):
    """With a queue whose quota suffices for one job, on nodes with room for two."""

    operator: Operator

    def submit(self, name: str, priority: str = "low", queue: str = QUEUE) -> None:
        labels = {QUEUE_LABEL: queue, PRIORITY_LABEL: f"{self.namespace}-{priority}"}
        self.create(name, labels, backoffLimit=0)

    def runs(self, name: str) -> bool:
        return bool(self.status(name).get("state") == "Running" and self.placed()[name] == PODS)

    def waits(self, name: str, reason: str) -> bool:
        status = self.status(name)
        return bool((status.get("state"), status.get("reason")) == ("Queuing", reason) and not self.placed()[name])


@pytest.fixture
def queued(control_plane: Cluster, namespace: str) -> Iterator[Queued]:
    """Ready for jobs."""
    control_plane.up(kwok=NODES, keep=False)
    control_plane.add_kueue()
    made = Queued(control_plane, namespace)
    team_queue.publish(control_plane.api, namespace, PODS, made.slot, {"type": "kwok"})
    with Operator(control_plane, arguments=("--namespace", namespace)) as made.operator:
        made.offer(PODS)
        yield made
        made.offer(None)


def test_a_job_waits_until_there_is_quota(queued: Queued) -> None:
    """Although its nodes have room; it says what it waits for, and runs when the first one has ended."""
    queued.submit("first")
    until("the first to run", partial(queued.runs, "first"), deadline=120)
    queued.submit("second")
    until("the second to wait", partial(queued.waits, "second", "QuotaPending"), deadline=90)
    # Before Kueue has said anything, the job says only that it waits.
    until(
        "Kueue's reason",
        lambda: "insufficient unused quota" in str(queued.status("second")["conditions"]),
        deadline=120,
    )
    queued.succeed("first")
    until("the second to run", partial(queued.runs, "second"), deadline=120)
    assert queued.status("first")["state"] == "Succeeded"


def test_a_preempted_job_runs_again_without_a_retry(queued: Queued) -> None:
    """Its pods are gone before the other one has quota; no retry is allowed, and none is counted."""
    queued.submit("victim")
    until("the victim to run", partial(queued.runs, "victim"), deadline=120)
    queued.submit("urgent", "high")
    until("the urgent one to run", partial(queued.runs, "urgent"), deadline=120)
    until("the victim to wait", partial(queued.waits, "victim", "QuotaPending"), deadline=90)
    queued.succeed("urgent")
    until("the victim to run again", partial(queued.runs, "victim"), deadline=120)
    assert queued.status("victim").get("retries", 0) == 0
    queued.succeed("victim")
    until("its success", lambda: queued.status("victim").get("state") == "Succeeded", deadline=120)


def test_a_queue_that_does_not_exist_is_named(queued: Queued) -> None:
    queued.submit("lost", queue="nowhere")
    until("it to say so", partial(queued.waits, "lost", "Inadmissible"), deadline=90)
    assert queued.says("lost", "nowhere")


def test_an_operator_that_restarts_leaves_admitted_jobs_alone(queued: Queued) -> None:
    """Its caches are empty at first, and an empty cache is no eviction."""
    queued.submit("first")
    until("the first to run", partial(queued.runs, "first"), deadline=120)
    before = {pod["metadata"]["uid"] for pod in queued.pods()}
    queued.operator.restart()
    queued.submit("second")
    until("the second to wait", partial(queued.waits, "second", "QuotaPending"), deadline=120)
    assert {pod["metadata"]["uid"] for pod in queued.pods()} == before
    assert queued.runs("first")
