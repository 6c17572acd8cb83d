"""XGBoostJob: what a replica is told of the tracker, and when the job is done."""

import inspect
from pathlib import Path

import pytest

from kubedl.training.kinds.xgboost import XGBoost
from tests.training_builders import JobBuilder
from tests.unit.training.kinds.pod_env import environment, is_done, order

JOB = JobBuilder(XGBoost(), "iris")
WHOLE = JOB.master().workers(2)


def test_ranks_are_unique_and_everybody_knows_the_tracker() -> None:
    """Exactly so: the master has rank 0 and trains too, so it counts among DMLC's workers."""
    expected = {
        "MASTER_ADDR": "iris-master-0.iris.team.svc",
        "MASTER_PORT": "9999",
        "WORLD_SIZE": "3",
        "PYTHONUNBUFFERED": "1",
        "DMLC_TRACKER_URI": "iris-master-0.iris.team.svc",
        "DMLC_TRACKER_PORT": "9999",
        "DMLC_NUM_WORKER": "3",
        "DMLC_ROLE": "worker",
    }
    assert environment(WHOLE, "Master") == expected | {"RANK": "0", "DMLC_TASK_ID": "0"}
    assert environment(WHOLE, "Worker", 0) == expected | {"RANK": "1", "DMLC_TASK_ID": "1"}
    assert environment(WHOLE, "Worker", 1) == expected | {"RANK": "2", "DMLC_TASK_ID": "2"}


@pytest.mark.parametrize("job", [JOB.workers(2), JOB.role("Master", 0).workers(2)])
def test_without_a_master_the_first_worker_has_the_tracker(job: JobBuilder) -> None:
    """Ranks are still 0 to n - 1."""
    found = [environment(job, "Worker", index) for index in range(2)]
    assert [one["DMLC_TASK_ID"] for one in found] == ["0", "1"]
    assert {one["DMLC_TRACKER_URI"] for one in found} == {"iris-worker-0.iris.team.svc"}


def test_the_masters_own_port_is_the_trackers() -> None:
    """As in the example of the first KubeDL."""
    template = JOB.template()
    template["spec"]["containers"][0]["ports"] = [{"name": "xgboostjob-port", "containerPort": 9991}]
    job = JOB.master(template=template).workers(1)
    assert environment(job, "Worker")["DMLC_TRACKER_PORT"] == environment(job, "Master")["MASTER_PORT"] == "9991"


@pytest.mark.parametrize(
    ("job", "finished", "expected"),
    [
        (WHOLE, {}, False),
        (WHOLE, {"Worker": {0, 1}}, False),
        (WHOLE, {"Master": {0}}, True),
        (JOB.workers(2), {"Worker": {0}}, False),
        (JOB.workers(2), {"Worker": {0, 1}}, True),
    ],
)
def test_the_master_decides(job: JobBuilder, finished: dict[str, set[int]], expected: bool) -> None:
    """Without one, everybody is needed."""
    assert expected == is_done(job, **finished)


def test_a_plain_kind_is_a_page_of_code() -> None:
    """All that a framework without oddities has to say."""
    assert Path(inspect.getfile(XGBoost)).read_text().count("\n") <= 60


def test_defaults() -> None:
    """A collective restarts together; kills are retried, errors are not; the job is deleted after 100 seconds."""
    view = JOB.kind.job(WHOLE.build())
    assert JOB.kind.restart_scope(view) == "Job"
    assert order(WHOLE) == {"Master": ("ExitCode", []), "Worker": ("ExitCode", ["Master"])}
    assert (JOB.kind.clean_pod_policy, view.spec.ttl_seconds_after_finished) == ("None", 100)


def test_the_lifetime_after_the_end_is_declared() -> None:
    """So that people see it in their object, and know that it is the default."""
    schema = JOB.kind.custom_resource.definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["spec"]["properties"]["ttlSecondsAfterFinished"]["default"] == 100
