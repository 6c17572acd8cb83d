"""PyTorchJob: the environment of torch.distributed and of torchrun, and when it is done."""

import pytest

from kubedl.training.job import Replica
from tests.training_builders import JobBuilder, torch_job


def environment(job: JobBuilder, role: str, index: int = 0) -> dict[str, str]:
    """Of one replica."""
    return dict(job.kind.environment(job.kind.job(job.build()), Replica(role, index)))


def test_the_master_has_rank_0_and_workers_follow() -> None:
    """Exactly so: for torch.distributed, and for torchrun, which reads its flags from PET_*."""
    job = torch_job("bert").master().workers(3).with_spec(nprocPerNode=4)
    expected = {
        "MASTER_ADDR": "bert-master-0.bert.team.svc",
        "MASTER_PORT": "23456",
        "WORLD_SIZE": "4",
        "PYTHONUNBUFFERED": "1",
        "PET_NNODES": "4",
        "PET_NPROC_PER_NODE": "4",
        "PET_MASTER_ADDR": "bert-master-0.bert.team.svc",
        "PET_MASTER_PORT": "23456",
    }
    assert environment(job, "Master") == expected | {"RANK": "0", "PET_NODE_RANK": "0"}
    assert environment(job, "Worker", 0) == expected | {"RANK": "1", "PET_NODE_RANK": "1"}
    assert environment(job, "Worker", 2) == expected | {"RANK": "3", "PET_NODE_RANK": "3"}


@pytest.mark.parametrize("job", [torch_job("bert").workers(2), torch_job("bert").role("Master", 0).workers(2)])
def test_without_a_master_the_first_worker_leads(job: JobBuilder) -> None:
    """Ranks are still 0 to n - 1."""
    found = [environment(job, "Worker", index) for index in range(2)]
    assert [one["RANK"] for one in found] == ["0", "1"]
    assert {one["MASTER_ADDR"] for one in found} == {"bert-worker-0.bert.team.svc"}
    assert {one["WORLD_SIZE"] for one in found} == {"2"}


def test_the_leaders_own_port_is_everybodys() -> None:
    """It is the leader's, not the reader's."""
    job = torch_job("bert")
    template = job.template()
    template["spec"]["containers"][0]["ports"] = [{"name": "pytorchjob-port", "containerPort": 29500}]
    job = job.master(template=template).workers(1)
    assert environment(job, "Worker")["MASTER_PORT"] == environment(job, "Master")["PET_MASTER_PORT"] == "29500"


@pytest.mark.parametrize(
    ("finished", "expected"),
    [
        ({}, False),
        ({"Master": {0}}, False),
        ({"Worker": {0, 1}}, False),
        ({"Master": {0}, "Worker": {1}}, False),
        ({"Master": {0}, "Worker": {0, 1}}, True),
    ],
)
def test_everybody_is_needed_to_the_end(finished: dict[str, set[int]], expected: bool) -> None:
    """The master too."""
    job = torch_job().master().workers(2)
    done = {role: frozenset(members) for role, members in finished.items()}
    assert expected == job.kind.succeeded(job.kind.job(job.build()), done)


def test_defaults() -> None:
    """A collective restarts together; workers wait for the master; a master's kill is retried, its error is not."""
    job = torch_job().master().workers(1)
    view = job.kind.job(job.build())
    assert job.kind.restart_scope(view) == "Job"
    assert [(role.name, role.restart_policy) for role in view.roles.values()] == [
        ("Master", "ExitCode"),
        ("Worker", "OnFailure"),
    ]
    assert [one.upstream for one in view.roles["Worker"].depends_on] == ["Master"]
