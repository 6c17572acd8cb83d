"""Kubeflow's elasticPolicy: each field means here what it means there, for the engine and for torchrun."""

from typing import Any

import msgspec
import pytest

from kubedl.api.elastic_policy import ElasticPolicy
from kubedl.training.job import Replica
from tests.training_builders import JobBuilder, decide, pod, torch_job

# What training-operator 1.9 gives the pods of a job with this policy, by its code. Endpoint: the name of worker 0, in
# full here. PET_NPROC_PER_NODE is the name that torchrun reads.
POLICY = {
    "minReplicas": 2,
    "maxReplicas": 4,
    "rdzvBackend": "c10d",
    "rdzvPort": 29400,
    "rdzvId": "bert-run",
    "rdzvConf": [{"key": "last_call_timeout", "value": "30"}, {"key": "read_timeout", "value": "60"}],
    "nProcPerNode": 4,
    "maxRestarts": 7,
}
TOLD = {
    "PET_NNODES": "2:4",
    "PET_RDZV_BACKEND": "c10d",
    "PET_RDZV_ENDPOINT": "bert-worker-0.bert.team.svc:29400",
    "PET_RDZV_ID": "bert-run",
    "PET_NPROC_PER_NODE": "4",
    "PET_MAX_RESTARTS": "7",
}
OURS = {
    "MASTER_ADDR": "bert-worker-0.bert.team.svc",
    "MASTER_PORT": "23456",
    "PYTHONUNBUFFERED": "1",
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
}


def job(policy: dict[str, Any] | None = None, workers: int = 3, **spec: object) -> JobBuilder:
    """With a policy of these fields."""
    return torch_job("bert").workers(workers).with_spec(elasticPolicy=POLICY if policy is None else policy, **spec)


def environment(builder: JobBuilder, index: int = 0, role: str = "Worker") -> dict[str, str]:
    """Of one replica."""
    return dict(builder.kind.environment(builder.kind.job(builder.build()), Replica(role, index)))


def test_torchrun_is_told_every_field() -> None:
    """Exactly so, and nothing else but what every elastic job gets."""
    conf = "join_timeout=3600,last_call_timeout=30,read_timeout=60"
    assert environment(job()) == TOLD | OURS | {"PET_RDZV_CONF": f"is_host=1,{conf}"}
    assert environment(job(), 2) == TOLD | OURS | {"PET_RDZV_CONF": f"is_host=0,{conf}"}


@pytest.mark.parametrize(
    ("field", "value", "variable", "told", "untold"),
    [
        ("rdzvBackend", "c10d", "PET_RDZV_BACKEND", "c10d", "c10d"),
        ("rdzvHost", "bert-worker-0", "PET_RDZV_ENDPOINT", *["bert-worker-0.bert.team.svc:23456"] * 2),
        (
            "rdzvPort",
            29400,
            "PET_RDZV_ENDPOINT",
            "bert-worker-0.bert.team.svc:29400",
            "bert-worker-0.bert.team.svc:23456",
        ),
        ("rdzvId", "mine", "PET_RDZV_ID", "mine", "uid-bert-2"),
        (
            "rdzvConf",
            [{"key": "join_timeout", "value": "60"}],
            "PET_RDZV_CONF",
            "is_host=1,join_timeout=60,last_call_timeout=5",
            "is_host=1,join_timeout=3600,last_call_timeout=5",
        ),
        ("maxRestarts", 0, "PET_MAX_RESTARTS", "0", "100"),
        ("nProcPerNode", 8, "PET_NPROC_PER_NODE", "8", "1"),
    ],
)
def test_a_field_changes_one_variable(field: str, value: object, variable: str, told: str, untold: str) -> None:
    """Without it the variable is that of any elastic job."""
    bounds = {"minReplicas": 1, "maxReplicas": 4}
    plain = environment(job(bounds).with_status(attempt=2))
    fixed = torch_job("bert").workers(3).with_spec(elastic=bounds).with_status(attempt=2)
    assert plain == environment(fixed)
    assert plain[variable] == untold
    assert environment(job({**bounds, field: value}).with_status(attempt=2)) == plain | {variable: told}


def test_standalone_is_a_flag_of_torchrun() -> None:
    """As a number: torchrun fails if the variable is empty."""
    alone = {"maxReplicas": 1, "standalone": True}
    assert environment(job(alone, 1))["PET_STANDALONE"] == "1"
    assert environment(job(alone, 1))["PET_NNODES"] == "1:1"
    for policy in ({"maxReplicas": 1}, {"maxReplicas": 1, "standalone": False}):
        assert "PET_STANDALONE" not in environment(job(policy, 1))


@pytest.mark.parametrize(
    ("policy", "workers", "expected"),
    [
        ({"minReplicas": 2, "maxReplicas": 4}, 3, "2:4"),
        ({"maxReplicas": 3}, 3, "3:3"),
        ({"minReplicas": 3}, 3, "3:3"),
        ({}, 5, "5:5"),
    ],
)
def test_a_bound_that_is_not_given_is_the_other_one(policy: dict[str, int], workers: int, expected: str) -> None:
    """Without both it is the number of workers."""
    assert environment(job(policy, workers))["PET_NNODES"] == expected


def test_the_role_is_found_however_it_is_spelled() -> None:
    builder = torch_job("bert").role("worker", 3).with_spec(elasticPolicy={})
    assert environment(builder)["PET_NNODES"] == "3:3"


def test_a_master_keeps_the_rendezvous_and_counts() -> None:
    told = environment(job().master())
    assert (told["PET_NNODES"], told["PET_RDZV_ENDPOINT"]) == ("3:5", "bert-master-0.bert.team.svc:29400")


def test_the_number_of_processes_may_be_in_the_spec() -> None:
    """That is its place since training-operator 1.7."""
    assert environment(job({"maxReplicas": 3}, nprocPerNode=2))["PET_NPROC_PER_NODE"] == "2"


def test_a_job_with_a_policy_is_resized_while_it_runs() -> None:
    """As one with `elastic`: pods are added, and the others stay."""
    running = job(workers=3).with_status(elastic=None).said("Running")
    first = decide(running, *(pod(running, "Worker", index).running() for index in range(3)))
    assert first.status.elastic is not None
    assert (first.status.elastic.size, first.deletions) == (3, ())
    assert first.status.start_time is not None
    written = running.with_status(elastic=first.status.elastic, start_time=first.status.start_time).workers(4)
    there = [pod(written, "Worker", index).running() for index in range(3)]
    grown = decide(written, *there)
    assert grown.status.elastic is not None
    assert (grown.status.elastic.size, grown.status.attempt, grown.deletions) == (4, 0, ())
    assert [one.reason for one in grown.events] == ["ReplicasAdded"]


def test_every_field_of_a_policy_is_compared() -> None:
    """With the table above: a field that is added must say what it becomes, or be refused."""
    known = {field.encode_name for field in msgspec.structs.fields(ElasticPolicy)}
    assert known == {*POLICY, "rdzvHost", "standalone", "metrics"}
