"""A job with real torchrun gets workers and loses them while it trains, on purpose or with a node that is taken."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from testbed.api import Object
from testbed.cluster import Cluster
from testbed.faults import Faults
from testbed.waiting import until
from tests.e2e.training.conftest import Submit
from tests.e2e.training.jobs import ELASTIC, RESTARTED, TAKEN
from tests.e2e.training.observed import END, ObservedJob

TAINT = "aws-node-termination-handler/spot-itn"


def test_a_job_is_resized_while_it_trains(submit: Submit) -> None:
    """The pods that stay are the same ones, training goes on from its checkpoint, and nothing counts as a retry."""
    job = submit(ELASTIC, held=True)
    job.trains()
    before = {name: pod["metadata"]["uid"] for name, pod in job.pods().items()}
    for size in (3, 2):
        step, starts = job.checkpoints.step(), _starts(job, size)
        _scale(job, size)
        job.wait(f"{size} workers to train", lambda: _starts(job, size) > starts)  # noqa: B023 - waited for here
        job.trains(beyond=job.checkpoints.step() + 1)
        assert job.resumed_at(ELASTIC.leader) >= step
    until("the removed worker to be gone", lambda: len(job.pods()) == 2, deadline=END)
    assert {name: pod["metadata"]["uid"] for name, pod in job.pods().items()} == before
    elastic = job.body["status"]["elastic"]
    assert (elastic["size"], elastic["members"], elastic["changes"]) == (2, "0-1", 2)
    assert (job.status("retries"), job.status("attempt")) == (0, 0)
    job.checkpoints.release()
    job.succeeded()


def test_a_job_without_torchrun_restarts_to_be_resized(submit: Submit) -> None:
    """The program saves only when it is asked: each size continues from the checkpoint that the operator got."""
    job = submit(RESTARTED, held=True)
    for attempt, size in enumerate((2, 3, 1)):
        if attempt:
            _scale(job, size)
        job.wait(f"{size} workers", lambda: len(job.pods()) == size and job.status("attempt") == attempt)  # noqa: B023 - waited for here
        # Ranks meet before they read the checkpoint: only a step says that it is read.
        job.wait("them to train", lambda: _starts(job, size) == 1 and _step(job) > 0)  # noqa: B023 - waited for here
        reached = _step(job)
        if attempt:
            assert job.resumed_at(RESTARTED.leader) > 5
        job.wait("a few steps", lambda: _step(job) > reached + 5)  # noqa: B023 - waited for here
    elastic = job.body["status"]["elastic"]
    assert (elastic["size"], elastic["changes"], elastic["reclaimCounts"]) == (1, 2, {"noticed": 2, "confirmed": 2})
    assert (job.status("retries"), job.warnings()) == (0, [])
    job.checkpoints.release()
    job.succeeded()


@pytest.mark.disruptive
def test_a_node_that_is_taken_is_left_after_a_checkpoint(submit: Submit, faults: Faults) -> None:
    """The program saves only when it is asked: what the others go on from is the checkpoint that the operator got.

    The pods are gone before their node is, they come back elsewhere, and nothing counts as a failure.
    """
    job = submit(TAKEN, held=True)
    # Two may begin without the third one; when it comes, all begin anew, since nothing is saved.
    job.wait("a few steps of all three", lambda: _starts(job, 3) > 0 and _step(job) > 5)
    before, starts = job.pods(), _starts(job, 3)
    home = before[TAKEN.leader]["spec"]["nodeName"]
    node = next(pod["spec"]["nodeName"] for pod in before.values() if pod["spec"]["nodeName"] != home)
    there = {pod["metadata"]["uid"] for pod in before.values() if pod["spec"]["nodeName"] == node}
    with _taken(job.workspace.cluster, node):
        job.wait("the checkpoint", lambda: bool(_reclaim(job).get("confirmedAt")), deadline=END)
        saved = job.checkpoints.step()
        assert saved > 5
        job.wait("the pods to be gone", lambda: not there & _uids(job), deadline=END)
        with faults.dead(f"{node}/kubelet"):
            job.wait("three workers to go on", lambda: job.resumed_at(TAKEN.leader) > 0 and _starts(job, 3) > starts)
            assert job.resumed_at(TAKEN.leader) == saved
            job.wait("new steps", lambda: _step(job) > saved + 5)
    job.workspace.cluster.parts.wait_ready(2, deadline=END)
    print(f"asked at step {saved}, {_lost(job, saved)} steps later they left: {_reclaim(job)}")
    after = job.pods()
    stayed = {name for name in before if before[name]["metadata"]["uid"] == after[name]["metadata"]["uid"]}
    assert stayed == {name for name, pod in before.items() if pod["spec"]["nodeName"] == home}
    assert {pod["spec"]["nodeName"] for pod in after.values()} == {home}
    reclaim = _reclaim(job)
    assert (reclaim["node"], reclaim["source"], reclaim["phase"]) == (node, TAINT, "Settled")
    assert job.body["status"]["elastic"]["reclaimCounts"] == {"noticed": 1, "confirmed": 1}
    assert (job.status("retries"), job.status("attempt"), job.warnings()) == (0, 0, [])
    job.checkpoints.release()
    job.succeeded()


@contextmanager
def _taken(cluster: Cluster, node: str) -> Iterator[None]:
    """A node has the taint with which its cloud says that it will be taken."""
    cluster.kubectl("taint", "nodes", node, f"{TAINT}=yes:NoSchedule")
    try:
        yield
    finally:
        cluster.kubectl("taint", "nodes", node, f"{TAINT}-")


def _reclaim(job: ObservedJob) -> Object:
    """Return the job's reclaim, if it knows of one."""
    return next(iter(job.body["status"]["elastic"].get("reclaims", ())), {})


def _uids(job: ObservedJob) -> set[str]:
    return {pod["metadata"]["uid"] for pod in job.pods().values()}


def _steps(printed: str) -> list[int]:
    """Return the steps that a worker has made, in their order."""
    return [int(step) for step in re.findall(r"^(?:\[\S+\]:)?step (\d+) loss", printed, re.MULTILINE)]


def _step(job: ObservedJob) -> int:
    """Return the last step that the first worker has made in its present group; 0 if it has made none there."""
    printed = job.log(job.training.leader).rpartition(" meets at ")[2]
    return max(_steps(printed)[-1:], default=0)


def _lost(job: ObservedJob, saved: int) -> int:
    """Return how many steps were made after the checkpoint before those that left were gone."""
    steps = _steps(job.log(job.training.leader))
    later = steps[steps.index(saved) + 1 :]
    return next((number for number, step in enumerate(later) if step != saved + 1 + number), len(later))


def _scale(job: ObservedJob, size: int) -> None:
    flags = (f"--namespace={job.workspace.namespace}", f"--replicas={size}")
    job.workspace.cluster.kubectl("scale", "pytorchjob", job.training.name, *flags)


def _starts(job: ObservedJob, size: int) -> int:
    """Return how often the first worker has begun to train in a group of this size."""
    return job.log(job.training.leader).count(f" of {size} meets at ")
