"""TFJob: TF_CONFIG, when it is done, and what one death costs."""

from typing import Any

import msgspec
import pytest

from kubedl.training.job import Replica
from kubedl.training.policies.success_policy import is_done
from tests.training_builders import JobBuilder, Object, tf_job


def config(job: JobBuilder, role: str, index: int = 0) -> Any:  # noqa: ANN401 - JSON
    """TF_CONFIG of one replica, or None."""
    text = job.kind.environment(job.kind.job(job.build()), Replica(role, index)).get("TF_CONFIG")
    return msgspec.json.decode(text) if text is not None else None


def done(job: JobBuilder, **indexes: set[int]) -> bool:
    """Whether the job is done when these are."""
    finished = {role: frozenset(members) for role, members in indexes.items()}
    return is_done(job.kind, job.kind.job(job.build()), finished)


def with_port(job: JobBuilder, number: int) -> Object:
    """A template whose main container has a port of its own."""
    template = job.template()
    template["spec"]["containers"][0]["ports"] = [{"name": "tfjob-port", "containerPort": number}]
    return template


def test_tf_config_names_every_replica_and_who_reads_it() -> None:
    """Exactly so."""
    job = tf_job("mnist").ps(1).chief().workers(2)
    assert config(job, "Worker", 1) == {
        "cluster": {
            "ps": ["mnist-ps-0.mnist.team.svc:2222"],
            "chief": ["mnist-chief-0.mnist.team.svc:2222"],
            "worker": ["mnist-worker-0.mnist.team.svc:2222", "mnist-worker-1.mnist.team.svc:2222"],
        },
        "task": {"type": "worker", "index": 1},
        "environment": "cloud",
    }


def test_an_evaluator_knows_the_cluster_and_is_no_part_of_it() -> None:
    """TensorFlow would wait for it otherwise."""
    job = tf_job("mnist").chief().evaluator()
    assert config(job, "Evaluator") == {
        "cluster": {"chief": ["mnist-chief-0.mnist.team.svc:2222"]},
        "task": {"type": "evaluator", "index": 0},
        "environment": "cloud",
    }


@pytest.mark.parametrize("job", [tf_job().workers(1), tf_job().chief(), tf_job().chief().ps(0)])
def test_one_replica_alone_needs_no_cluster(job: JobBuilder) -> None:
    """A job that is written for one machine runs unchanged."""
    assert config(job, next(iter(job.roles))) is None


def test_a_port_of_the_users_own_is_told_to_the_others() -> None:
    """By role: the others keep the default."""
    job = tf_job("mnist")
    job = job.ps(1, template=with_port(job, 4000)).workers(1)
    cluster = config(job, "Worker")["cluster"]
    assert cluster == {"ps": ["mnist-ps-0.mnist.team.svc:4000"], "worker": ["mnist-worker-0.mnist.team.svc:2222"]}


def test_roles_are_known_in_any_case() -> None:
    """People write `worker` and `Worker`."""
    job = tf_job().role("wORKER", 2).role("ps")
    assert list(job.kind.job(job.build()).roles) == ["PS", "Worker"]
    assert config(job, "Worker", 1)["task"] == {"type": "worker", "index": 1}


CHIEF = tf_job().ps(1).chief().workers(2)
MASTER = tf_job().master().workers(2)
WORKERS = tf_job().workers(3)
ALL = {"successPolicy": "AllWorkers"}


@pytest.mark.parametrize(
    ("job", "finished", "expected"),
    [
        (CHIEF, {"Chief": {0}}, True),
        (CHIEF, {"Worker": {0, 1}, "PS": {0}}, False),
        (CHIEF.with_spec(**ALL), {"Chief": {0}}, False),
        (CHIEF.with_spec(**ALL), {"Chief": {0}, "Worker": {1}}, False),
        (CHIEF.with_spec(**ALL), {"Chief": {0}, "Worker": {0, 1}}, True),
        (CHIEF.with_spec(**ALL), {"Worker": {0, 1}}, False),
        (MASTER, {"Master": {0}}, True),
        (MASTER, {"Worker": {0}}, False),
        (WORKERS, {"Worker": {0}}, True),
        (WORKERS, {"Worker": {1, 2}}, False),
        (WORKERS.with_spec(**ALL), {"Worker": {0, 1}}, False),
        (WORKERS.with_spec(**ALL), {"Worker": {0, 1, 2}}, True),
        (tf_job().ps(2), {"PS": {0}}, False),
        (tf_job().ps(2), {"PS": {0, 1}}, True),
        (tf_job().evaluator(), {"Evaluator": {0}}, True),
        (tf_job().role("Chief", 0).workers(1), {"Worker": {0}}, True),
    ],
)
def test_the_chief_decides_else_the_first_worker(
    job: JobBuilder, finished: dict[str, set[int]], expected: bool
) -> None:
    """And under AllWorkers every worker too; parameter servers never end by themselves."""
    assert expected == done(job, **finished)


@pytest.mark.parametrize(
    ("job", "expected"), [(CHIEF, "Replica"), (tf_job().ps(0).workers(2), "Job"), (WORKERS, "Job"), (MASTER, "Job")]
)
def test_workers_without_parameter_servers_die_together(job: JobBuilder, expected: str) -> None:
    """With them a worker is on its own."""
    assert expected == job.kind.restart_scope(job.kind.job(job.build()))


def test_servers_come_first() -> None:
    """Unless the user says otherwise."""
    job = tf_job().ps(1).chief().workers(1, dependsOn=[]).evaluator()
    roles = job.kind.job(job.build()).roles
    waits = {role.name: [(one.upstream, one.phase) for one in role.depends_on] for role in roles.values()}
    assert waits == {"PS": [], "Chief": [("PS", "Running")], "Worker": [], "Evaluator": []}
