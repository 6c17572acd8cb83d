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


def elastic(job: JobBuilder) -> JobBuilder:
    """With two to four workers."""
    return job.with_spec(elastic={"minReplicas": 2, "maxReplicas": 4})


def test_an_elastic_job_meets_at_the_agent_of_its_first_replica() -> None:
    """Exactly so: nothing but `is_host` differs from pod to pod, and nothing tells of the present size."""
    job = elastic(torch_job("bert").workers(3).with_spec(nprocPerNode=4)).with_status(attempt=2)
    expected = {
        "MASTER_ADDR": "bert-worker-0.bert.team.svc",
        "MASTER_PORT": "23456",
        "PYTHONUNBUFFERED": "1",
        "PET_NNODES": "2:4",
        "PET_NPROC_PER_NODE": "4",
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": "bert-worker-0.bert.team.svc:23456",
        "PET_RDZV_ID": "uid-bert-2",
        "PET_RDZV_CONF": "is_host=1,join_timeout=3600,last_call_timeout=5",
        "PET_MAX_RESTARTS": "100",
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    }
    assert environment(job, "Worker", 0) == expected
    assert environment(job, "Worker", 2) == expected | {"PET_RDZV_CONF": expected["PET_RDZV_CONF"].replace("1", "0", 1)}
    assert environment(job.workers(2), "Worker", 1) == environment(job, "Worker", 1)


def test_a_master_of_an_elastic_job_is_a_member_that_never_leaves() -> None:
    """It keeps the rendezvous, and counts beside the workers."""
    job = elastic(torch_job("bert").master().workers(2))
    assert environment(job, "Worker")["PET_NNODES"] == "3:5"
    assert environment(job, "Worker")["PET_RDZV_ENDPOINT"] == "bert-master-0.bert.team.svc:23456"
    assert environment(job, "Master")["PET_RDZV_CONF"].startswith("is_host=1,")


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
