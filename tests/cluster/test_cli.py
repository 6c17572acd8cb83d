"""The command line on a real API server: what a person types in the life of a job, on simulated nodes."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from harness.drivers import command_line
from harness.drivers.operator_process import Operator
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.cluster.slot_jobs import NODES, SlotJobs

Run = Callable[..., command_line.Done]
# Not all taints: on nodes that other tests play meanwhile, nobody would run the pods.
SIMULATED = ("--toleration", "kwok.x-k8s.io/node")


@pytest.fixture
def jobs(control_plane: Cluster, namespace: str) -> Iterator[SlotJobs]:
    """Ready for jobs."""
    control_plane.up(kwok=NODES, keep=False)
    with Operator(control_plane, arguments=("--namespace", namespace)):
        yield SlotJobs(control_plane, namespace)


@pytest.fixture
def kubedl(control_plane: Cluster, namespace: str, tmp_path: Path) -> Run:
    """Runs `kubedl …` in the namespace, as administrator."""
    return partial(command_line.kubedl, control_plane, namespace, tmp_path)


def test_the_life_of_a_job(jobs: SlotJobs, kubedl: Run, namespace: str) -> None:
    """submit, list, get, wait, delete; the server's own tables and its own refusals."""
    assert kubedl("list").stderr == f"no jobs in {namespace}\n"
    flags = ("--name", "bert", "--image", "none", "--workers", "2", *SIMULATED)
    submitted = kubedl("submit", "pytorch", *flags, "--", "python", "train.py")
    assert (submitted.returncode, submitted.stdout) == (0, f"pytorchjob/bert created in {namespace}\n"), (
        submitted.stderr
    )
    assert kubedl("wait", "bert", "--for", "ready", "--timeout", "180").returncode == 0

    head, row = kubedl("list").stdout.splitlines()
    assert head.split() == ["NAME", "KIND", "STATE", "READY", "GPUS", "QUEUE", "AGE", "WHAT"]
    assert row.split()[:5] == ["bert", "pytorch", "Running", "2/2", "-"]
    (summary,) = json.loads(kubedl("list", "-o", "json").stdout)["items"]
    assert (summary["kind"], summary["namespace"], summary["restarts"]) == ("PyTorchJob", namespace, 0)

    page = kubedl("get", "bert-worker-0").stdout
    assert page.startswith(f"bert  PyTorchJob in {namespace}  Running for ")
    assert "command  python train.py" in page
    assert "worker-0  Running  kwok-" in page

    taken = kubedl("submit", "pytorch", *flags)
    assert (taken.returncode, taken.stdout) == (1, "")
    assert taken.stderr.startswith(f"error: bert is taken: PyTorchJob in {namespace}, Running\n")
    refused = kubedl("submit", "pytorch", "--name", "Bad_Name", "--image", "none", "--wait")
    assert refused.returncode == 126
    assert "Bad_Name" in refused.stderr

    jobs.fail("bert-worker-0")
    until("the failure to count", lambda: jobs.status("bert").get("restarts"), deadline=120)
    until("all to run again", partial(_runs, jobs), deadline=120)
    jobs.succeed("bert")
    done = kubedl("wait", "bert", "--timeout", "180")
    assert done.returncode == 0, done.stderr
    assert kubedl("delete", "bert").stdout == f"pytorchjob/bert deleted from {namespace}\n"
    assert kubedl("wait", "bert").returncode == 125


def test_the_exit_code_is_that_of_the_replica_that_failed(jobs: SlotJobs, kubedl: Run) -> None:
    flags = ("--name", "short", "--image", "none", "--retry", "0", *SIMULATED)
    assert kubedl("submit", "pytorch", *flags).returncode == 0
    assert kubedl("wait", "short", "--for", "running", "--timeout", "180").returncode == 0
    jobs.fail("short-master-0")
    ended = kubedl("wait", "short", "--timeout", "180")
    assert ended.returncode == 137
    assert ended.stderr.splitlines()[-1] == "  next  kubedl get short      or  kubedl logs short -i master-0"


def _runs(jobs: SlotJobs) -> bool:
    status = jobs.status("bert")
    return bool(status.get("state") == "Running" and status.get("ready") == "2/2")
