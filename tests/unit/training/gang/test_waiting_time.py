"""How long a gang has waited is told in steps, and the gate of a gang before the roles that wait for its pods."""

from dataclasses import replace
from datetime import datetime, timedelta

from kubedl.training.gang.assignment import NOT_FOUND, job_of
from kubedl.training.gang.scheduler import InstalledScheduler
from kubedl.training.gang.schedulers import all_gang_schedulers
from kubedl.training.observed import Settings
from kubedl.training.plan import Plan
from kubedl.training.planner import plan
from tests.training_builders import NOW, JobBuilder, PodBuilder, observed, pod, tf_job

INSTALLED = {name: InstalledScheduler(one, next(iter(one.kinds), None)) for name, one in all_gang_schedulers().items()}
NO_ROOM = "0/2 nodes are available: 2 Insufficient cpu."
GANG = tf_job().workers(4).scope("Replica").with_spec(schedulingPolicy={"gangScheduler": "native"})


def planned(job: JobBuilder, *pods: PodBuilder, now: datetime = NOW, installed: object = INSTALLED) -> Plan:
    settings = Settings(gang_schedulers=installed)  # type: ignore[arg-type]
    whole, before = job_of(job.kind, job.build(), settings), now - timedelta(seconds=10)
    return plan(replace(observed(job, *pods), job=whole, settings=settings, now=now, message_written_at=before))


def half_placed() -> list[PodBuilder]:
    waiting = pod(GANG, "Worker", 3).condition("PodScheduled", "False", "Unschedulable", NO_ROOM)
    return [*(pod(GANG, "Worker", index).on("node1").running() for index in range(3)), waiting]


def test_each_step_is_written_although_only_numbers_change() -> None:
    """Between them the job is not even looked at."""
    job, moment, told = GANG, NOW, []
    for _ in range(5):
        decided = planned(job, *half_placed(), now=moment)
        assert decided.wake_at is not None
        moment = decided.wake_at
        told.append(decided.status.message.partition("Unschedulable: ")[2].partition(": ")[0])
        job = GANG.with_status(**{name: getattr(decided.status, name) for name in decided.status.__struct_fields__})
    placed = "3 of 4 pods of the gang are placed (native)"
    waits = ["", *(f", waiting over {time}" for time in ("10 s", "20 s", "40 s", "1 min"))]
    assert told == [placed + text for text in waits]


def test_a_gate_comes_before_a_role_that_waits_for_the_pods_behind_it() -> None:
    """The workers wait for the PS, and the PS for a scheduler that the cluster does not have."""
    order = [{"upstream": "PS", "phase": "Running"}]
    job = tf_job().ps(1, dependsOn=[]).workers(3, dependsOn=order).with_spec(schedulingPolicy={"minAvailable": 4})
    decided = planned(job, installed={})
    assert (decided.creations, decided.status.reason) == ((), NOT_FOUND)
    waiting = pod(job, "PS").on("node1").running(ready=False)
    assert planned(job, waiting._status(phase="Pending")).status.reason != NOT_FOUND  # noqa: SLF001
