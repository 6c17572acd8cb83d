"""mpirun on two nodes, over ssh between pods that have no rights, in a namespace that is *restricted*."""

import re
from pathlib import Path

import pytest

from harness.drivers import audit_log
from harness.drivers.operator_process import USER
from testbed.waiting import until
from tests.e2e.training.conftest import Submit
from tests.e2e.training.jobs import INTEL, MPICH, OPEN_MPI_4, PI, Training
from tests.e2e.training.observed import END, ObservedJob
from tests.e2e.training.workloads.pace import FAIL, FAILURE

NODES = ("node1", "node2")


@pytest.mark.parametrize("training", [PI, OPEN_MPI_4, MPICH, INTEL], ids=lambda training: training.name)
def test_ranks_on_both_nodes_find_pi(submit: Submit, training: Training) -> None:
    """Two on each worker. Workers, which would serve for ever, are ended; the launcher and its log stay."""
    job = submit(training)
    job.succeeded()
    assert said(job) == everybody(training)
    job.nothing_runs()
    assert set(job.pods()) == {training.leader}
    assert job.status("retries") == 0


def test_a_launcher_that_fails_once_restarts_everybody(submit: Submit, tmp_path: Path) -> None:
    """As one attempt after the other: nothing of the second is made before the last of the first is gone."""
    since = audit_log.now()
    (tmp_path / FAIL).touch()
    job = submit(PI)
    job.succeeded()
    assert said(job) == everybody(PI)
    assert (job.status("attempt"), job.status("retries")) == (1, 1)
    cause = f"{PI.leader} failed with exit code {FAILURE}; all 3 replicas are restarted (retry 1 of 3)"
    until("a Warning about the failure", job.warnings, deadline=END)  # events are sent beside the work
    assert job.warnings() == [cause]
    made, gone = pods_made(job, since), pods_gone(job, since)
    assert {name: len(moments) for name, moments in made.items()} == dict.fromkeys(PI.pods, 2)
    end_of_first = max(gone[name][0] for name in PI.pods - {PI.leader})
    assert end_of_first < min(moments[1] for moments in made.values())


def everybody(training: Training) -> tuple[str, ...]:
    """What the ranks say if all of them took part."""
    hosts = [f"{training.name}-worker-{index}" for index in (0, 0, 1, 1)]
    return f"4 ranks on {', '.join(hosts)}", "3.141592653590"


def said(job: ObservedJob) -> tuple[str, ...]:
    """Where the ranks ran, and what they found."""
    found = re.search(r"^(4 ranks on .*)\npi is (\S+)$", job.log(job.training.leader), re.MULTILINE)
    assert found, job.story()
    return found.groups()


def pods_made(job: ObservedJob, since: audit_log.Moment) -> dict[str, list[audit_log.Moment]]:
    """When the operator made each pod."""
    return _moments(job, "create", USER, since)


def pods_gone(job: ObservedJob, since: audit_log.Moment) -> dict[str, list[audit_log.Moment]]:
    """When the kubelets had ended each pod that was told to go."""
    found: dict[str, list[audit_log.Moment]] = {}
    for node in NODES:
        for name, moments in _moments(job, "delete", f"system:node:{node}", since).items():
            found[name] = sorted([*found.get(name, ()), *moments])
    return found


def _moments(job: ObservedJob, verb: str, user: str, since: audit_log.Moment) -> dict[str, list[audit_log.Moment]]:
    found: dict[str, list[audit_log.Moment]] = {}
    for write in audit_log.writes(job.workspace.cluster, user, since):
        here = write.namespace == job.workspace.namespace and write.resource == "pods"
        if here and write.verb == verb and write.code < 300:
            found.setdefault(write.name, []).append(write.at)
    return found
