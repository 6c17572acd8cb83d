"""What a job in a queue says: the cause, its position and who holds the quota, in few writes."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from kubedl.api.conditions import Condition, find
from kubedl.api.training import JobStatus
from kubedl.kube.types.meta import ObjectMeta
from kubedl.training.formatting import LONGEST_LINE
from kubedl.training.kueue.places import Holder, Place
from kubedl.training.kueue.queue import NOT_AVAILABLE, PENDING, Queue
from kubedl.training.kueue.types import (
    Admission,
    AdmissionCheckState,
    PodSetAssignment,
    Workload,
    WorkloadSpec,
    WorkloadStatus,
)
from kubedl.training.observed import Settings
from kubedl.training.plan import Plan
from kubedl.training.planner import plan
from kubedl.training.queuing import MINUTE, SOON
from kubedl.training.waiting import LONGEST, PAUSE, PODS_READY, REFRESH, is_waiting
from tests.training_builders import NOW, JobBuilder, observed, pod, torch_job

JOB = torch_job().master().workers(3).with_spec(schedulingPolicy={"queue": "team"})
SHORT = "couldn't assign flavors to pod set worker: insufficient unused quota for gpu in flavor f, 4 more needed"
NAMED = ObjectMeta(name="w", namespace="team", uid="u")
FIRST = Place(
    metadata=NAMED,
    position="position 1 in queue team",
    holders=(Holder(name="PyTorchJob bert", usage={"gpu": "4"}),),
    others=2,
)
BEHIND = Place(position="behind the first 100 of queue team")


def waiting(message: str = SHORT, reason: str = "Pending", *more: Condition) -> Workload:
    reserved = Condition(type="QuotaReserved", status="False", reason=reason, message=message)
    return Workload(
        metadata=NAMED, spec=WorkloadSpec(queue_name="team"), status=WorkloadStatus(conditions=(reserved, *more))
    )


def planned(
    job: JobBuilder,
    found: Workload | None,
    place: Place | None = FIRST,
    *,
    now: datetime = NOW,
    written: datetime | None = None,
    **queue: Any,  # noqa: ANN401
) -> Plan:
    state = Queue("team", workload=found, place=place, **queue)
    return plan(replace(observed(job), queue=state, now=now, message_written_at=written))


def said(status: JobStatus) -> Condition:
    found = find(status.conditions, PODS_READY)
    assert found is not None
    assert found.status == "False"
    return found


def after(decided: Plan) -> JobBuilder:
    return JOB.with_status(**{name: getattr(decided.status, name) for name in decided.status.__struct_fields__})


def test_the_condition_has_position_holder_and_the_words_of_kueue() -> None:
    """It is the one that tells why a job does not run; the line for `kubectl get` has less."""
    status = planned(JOB, waiting()).status
    held = "position 1 in queue team; quota held by PyTorchJob bert (4 gpu) and 2 other workloads"
    assert said(status).reason == status.reason == PENDING
    assert said(status).message == f"{held}: {SHORT} (since 2026-01-01T12:00:00Z)"
    assert status.message.startswith(f"QuotaPending: {held}: ")
    assert (status.state, status.queue_name) == ("Queuing", "team")
    assert len(status.message) <= LONGEST_LINE
    assert is_waiting(status)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (None, f"the job waits in queue team: {SHORT}"),
        (Place(), f"the job waits in queue team: {SHORT}"),
        (BEHIND, f"behind the first 100 of queue team: {SHORT}"),
        (
            msgspec.structs.replace(FIRST, position="", others=0),
            f"the job waits in queue team; quota held by PyTorchJob bert (4 gpu): {SHORT}",
        ),
    ],
)
def test_what_is_not_known_is_left_out(place: Place | None, text: str) -> None:
    assert said(planned(JOB, waiting(), place).status).message.startswith(f"{text} (since")


def test_a_job_that_was_preempted_says_by_whom_until_it_runs_again() -> None:
    evicted = Condition(
        type="Evicted", status="True", reason="Preempted", message="Preempted to accommodate a workload"
    )
    again = planned(JOB, waiting(SHORT, "Pending", evicted), preemptor="PyTorchJob urgent").status
    assert "preempted by PyTorchJob urgent" in said(again).message
    assert again.reason == PENDING
    held = Workload(
        metadata=NAMED, status=WorkloadStatus(conditions=(evicted,), admission=Admission(cluster_queue="cq"))
    )
    leaving = planned(JOB, held, preemptor="PyTorchJob urgent").status
    assert said(leaving).reason == "Preempted"
    assert said(leaving).message.startswith("preempted by PyTorchJob urgent: Preempted to accommodate a workload")


def test_a_queue_that_does_not_exist_and_a_cluster_without_kueue_are_told_in_the_same_condition() -> None:
    lost = planned(JOB, waiting("LocalQueue team doesn't exist", "Inadmissible"), Place()).status
    assert said(lost).reason == "Inadmissible"
    assert "LocalQueue team doesn't exist" in said(lost).message
    stopped = planned(JOB, waiting("LocalQueue team is stopped", "Inadmissible"), FIRST).status
    assert "held by" not in said(stopped).message  # that is not why it waits
    without = planned(JOB, None, None, missing="the cluster has no Kueue").status
    assert said(without).reason == NOT_AVAILABLE
    assert "the job asks for queue team, and the cluster has no Kueue" in said(without).message


def test_admission_checks_that_are_not_done_are_named() -> None:
    checks = (("budget", "Ready", "granted"), ("nodes", "Pending", "waiting for 4 nodes"), ("other", "Retry", ""))
    states = tuple(AdmissionCheckState(name=name, state=state, message=text) for name, state, text in checks)
    reserved = Condition(type="QuotaReserved", status="True", reason="QuotaReserved")
    status = WorkloadStatus(conditions=(reserved,), admission=Admission(cluster_queue="cq"), admission_checks=states)
    decided = planned(JOB, Workload(metadata=NAMED, status=status)).status
    text = "the job has quota in queue team and waits for admission checks; nodes: waiting for 4 nodes; other: Retry"
    assert said(decided).message.startswith(text)


def test_texts_of_others_are_bounded() -> None:
    long = "x" * 100_000
    place = Place(metadata=NAMED, position="position 1 in queue team", holders=(Holder(name=long),))
    status = planned(JOB, waiting(long), place).status
    assert len(said(status).message) <= LONGEST
    assert len(status.message) <= LONGEST_LINE


def moved(place: Place, position: int) -> Place:
    return msgspec.structs.replace(place, position=f"position {position} in queue team")


def test_a_position_is_written_once_a_minute() -> None:
    """However often it changes; and the job is looked at when it may be written."""
    job = after(planned(JOB, waiting(), moved(FIRST, 9)))
    for second in range(1, 60):
        now = NOW + timedelta(seconds=second)
        decided = planned(job, waiting(), moved(FIRST, 8), now=now, written=NOW)
        assert decided.status == job.build().status
        assert decided.wake_at == NOW + MINUTE
    decided = planned(job, waiting(), moved(FIRST, 7), now=NOW + MINUTE, written=NOW)
    assert "position 7" in said(decided.status).message


def test_a_holder_that_goes_is_told_sooner_than_a_number_and_a_reason_at_once() -> None:
    job = after(planned(JOB, waiting()))
    other = msgspec.structs.replace(FIRST, holders=(Holder(name="PyTorchJob resnet", usage={"gpu": "4"}),))
    assert planned(job, waiting(), other, now=NOW + PAUSE / 2, written=NOW).status == job.build().status
    assert "resnet" in said(planned(job, waiting(), other, now=NOW + PAUSE, written=NOW).status).message
    lost = planned(job, waiting("LocalQueue team doesn't exist", "Inadmissible"), now=NOW, written=NOW)
    assert said(lost.status).reason == "Inadmissible"


def test_the_first_words_of_kueue_are_told_at_once() -> None:
    """They come a moment after the job, and its place a moment later: both are one write."""
    job = after(planned(JOB, None, None))
    held = planned(job, waiting(), None, written=NOW)
    assert (held.status, held.wake_at) == (job.build().status, NOW + SOON)
    assert "position 1" in said(planned(job, waiting(), written=NOW).status).message


def test_the_numbers_of_kueue_are_written_seldom_for_jobs_far_behind() -> None:
    """Kueue may look at thousands of them whenever quota is free."""
    job = after(planned(JOB, waiting(), BEHIND))
    fewer = waiting(SHORT.replace("4 more", "2 more"))
    decided = planned(job, fewer, BEHIND, now=NOW + 2 * MINUTE, written=NOW)
    assert (decided.status, decided.wake_at) == (job.build().status, NOW + REFRESH)
    assert "2 more needed" in said(planned(job, fewer, BEHIND, now=NOW + REFRESH, written=NOW).status).message


def test_an_operator_that_restarts_writes_nothing_until_it_knows_more() -> None:
    """It has not asked about the queue yet, and does not know when the text was written."""
    job = after(planned(JOB, waiting()))
    decided = planned(job, waiting(), None)
    assert (decided.status, decided.wake_at) == (job.build().status, NOW + SOON)
    assert planned(job, waiting(), moved(FIRST, 2)).status == job.build().status
    other = msgspec.structs.replace(FIRST, others=0)
    assert planned(job, waiting(), other).status != job.build().status


def test_the_queue_is_in_the_status() -> None:
    """Of a job that waits, runs or was admitted; a queue of a gang scheduler is none of Kueue."""
    assert planned(JOB, None).status.queue_name == "team"
    assert planned(JOB.with_status(start_time=NOW), None).status.queue_name == "team"
    assert plan(observed(torch_job().master())).status.queue_name == ""


def test_a_flavor_that_is_missing_comes_before_a_role_that_waits() -> None:
    """The workers wait for the master, and the master for its flavor."""
    admitted = tuple(Condition(type=kind, status="True", reason="x") for kind in ("QuotaReserved", "Admitted"))
    assigned = PodSetAssignment(name="master", flavors={"gpu": "a100"})
    held = Admission(cluster_queue="cq", pod_set_assignments=(assigned,))
    found = Workload(metadata=NAMED, status=WorkloadStatus(conditions=admitted, admission=held))
    decided = planned(JOB, found)
    assert (decided.creations, decided.status.reason) == ((), "FlavorNotFound")


def test_a_job_whose_pods_leave_is_written_in_any_case() -> None:
    running = after(planned(JOB, waiting())).with_status(start_time=NOW)
    state = Queue("team", workload=waiting(), place=FIRST)
    known = replace(observed(running, pod(JOB, "Master").running()), queue=state, settings=Settings())
    assert len(plan(known).deletions) == 1
