"""What is counted of jobs' lives, each once."""

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from kubedl.api.conditions import Condition
from kubedl.api.training import JobStatus, ReplicaStatus, TrainingJob
from kubedl.training.job_metrics import FAILURES, JobMetrics
from tests.training_builders import NOW, tf_job
from tests.unit.training.api_model import ApiModel
from tests.unit.training.operator_model import OperatorModel
from tests.unit.training.world_model import World


class Counted:
    """A job that goes from status to status, and what was counted."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._metrics = JobMetrics(["TFJob"], self._registry)
        made = tf_job("train").workers(2).build()
        self._made = msgspec.structs.replace(
            made, metadata=msgspec.structs.replace(made.metadata, creation_timestamp=NOW), status=JobStatus()
        )

    def becomes(self, after: float = 0.0, *, ready: int = 0, status: dict[str, Any] | None = None, **true: str) -> None:
        """The operator writes a status with these conditions, so many seconds after the job was made."""
        conditions = tuple(Condition(type=name, status="True", reason=reason) for name, reason in true.items())
        replicas = {"Worker": ReplicaStatus(ready=ready, **(status or {}).pop("worker", {}))}
        new = JobStatus(conditions=conditions, replica_statuses=replicas, **(status or {}))
        self._metrics.written("TFJob", self._made, new, NOW + timedelta(seconds=after))
        self._made = msgspec.structs.replace(self._made, status=new)

    def __getitem__(self, name: str) -> float:
        name, _, labels = name.partition("/")
        pairs = dict(pair.split("=") for pair in labels.split(",") if pair)
        found = self._registry.get_sample_value(f"kubedl_jobs_{name}", {"kind": "TFJob", **pairs})
        assert found is not None, name
        return found


def test_a_good_life_is_counted_once() -> None:
    job = Counted()
    assert (job["created_total"], job["succeeded_total"]) == (0, 0)  # there before anything happens
    job.becomes(1, Created="JobCreated")
    job.becomes(4, ready=1, Created="JobCreated")
    job.becomes(5, ready=0, Created="JobCreated")
    job.becomes(6, ready=1, Created="JobCreated")
    job.becomes(9, ready=2, Created="JobCreated", Running="JobRunning")
    job.becomes(9, ready=2, Created="JobCreated", Running="JobRunning")
    for _ in range(2):
        job.becomes(20, Created="JobCreated", Succeeded="JobSucceeded", status={"completion_time": NOW})
    assert (job["created_total"], job["succeeded_total"]) == (1, 1)
    assert (job["launch_seconds_sum/pods=first"], job["launch_seconds_count/pods=first"]) == (4, 1)
    assert (job["launch_seconds_sum/pods=all"], job["launch_seconds_count/pods=all"]) == (9, 1)
    assert sum(job[f"failed_total/reason={reason}"] for reason in FAILURES) == 0


@pytest.mark.parametrize(("reason", "label"), [("DeadlineExceeded", "DeadlineExceeded"), ("SomethingOfAUser", "Other")])
def test_failures_have_reasons_that_are_known(reason: str, label: str) -> None:
    """A label must not take whatever comes: each value is a series that stays."""
    job = Counted()
    job.becomes(1, Created="JobCreated")
    job.becomes(2, Created="JobCreated", Failed=reason)
    assert job[f"failed_total/reason={label}"] == 1


def test_restarts_are_counted_by_whose_fault_they_were() -> None:
    job = Counted()
    job.becomes(1, Created="JobCreated")
    job.becomes(2, Created="JobCreated", Running="JobRunning")
    job.becomes(3, Created="JobCreated", status={"worker": {"restarts": 1}})
    job.becomes(4, Created="JobCreated", status={"worker": {"restarts": 1, "evicted": 2}})
    job.becomes(
        5, ready=2, Created="JobCreated", Running="JobRunning", status={"worker": {"restarts": 1, "evicted": 2}}
    )
    assert (job["restarted_total/reason=Failed"], job["restarted_total/reason=Evicted"]) == (1, 1)
    assert job["launch_seconds_count/pods=all"] == 1  # the first start alone


def test_a_job_that_was_suspended_began_when_it_was_resumed() -> None:
    job = Counted()
    job.becomes(1, Suspended="JobSuspended")
    resumed = {"start_time": NOW + timedelta(seconds=1000)}
    job.becomes(1007, ready=2, Suspended="JobResumed", Running="JobRunning", status=resumed)
    assert job["launch_seconds_sum/pods=all"] == 7


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as running:
        yield running


def test_the_controller_tells_of_what_it_wrote(runner: asyncio.Runner) -> None:
    """Of each status once, after the server has it, with what was there before."""
    builder = tf_job("train").workers(1)
    world = World(builder.kind, builder.build(), ApiModel(NOW))
    operator = OperatorModel(world.api, builder.kind, builder.build().metadata.key, lambda *_: None)
    told: list[tuple[bool, bool]] = []

    def written(_: str, made: TrainingJob, after: JobStatus, __: datetime) -> None:
        told.append((bool(made.status.conditions), bool(after.conditions)))

    operator.controller._written = written  # noqa: SLF001
    for _ in range(3):
        operator.deliver_all()
        operator.reconcile(runner)
    assert told == [(False, True)]
