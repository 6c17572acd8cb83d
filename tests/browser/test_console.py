"""A person in a real Chromium signs in, sees a job appear without loading the page again, and opens it."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.drivers.console_process import ConsoleProcess, token_of
from testbed.cluster import Cluster

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "console" / "browser" / "job-appears.mjs"
PICTURES = ROOT / "build" / "screenshots" / "console"
VIEW = {"apiGroups": ["training.kubedl.io"], "resources": ["*"], "verbs": ["get", "list"]}
PODS = {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["get", "list"]}
HOSTILE = "<img src=x onerror=alert(1)>"
JOB: dict[str, Any] = {
    "apiVersion": "training.kubedl.io/v1alpha1",
    "kind": "PyTorchJob",
    "metadata": {"name": "bert-large", "annotations": {"kubedl.io/user": "mei.lin"}},
    "spec": {
        "pytorchReplicaSpecs": {
            "Master": {"replicas": 1, "template": {"spec": {"containers": [{"name": "pytorch", "image": "train:1"}]}}}
        }
    },
}


@contextmanager
def browser(console: ConsoleProcess, token: str, job: str) -> Iterator["subprocess.Popen[str]"]:
    """Run the script; the token is not in its command line."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    given = {**os.environ, "CONSOLE": console.url, "TOKEN": token, "JOB": job, "PICTURES": str(PICTURES)}
    process = subprocess.Popen(
        ["node", str(SCRIPT)],
        env=given,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def go_on(process: "subprocess.Popen[str]", reached: str) -> None:
    """Wait for a step of the script; it has time limits of its own."""
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline().strip()
    assert line == reached, process.stderr.read()


def tell(process: "subprocess.Popen[str]") -> None:
    """Let the script go on."""
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def test_a_job_appears_and_is_opened(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """With no request to another origin, no report of the content policy and no error in the browser's log."""
    jobs = f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/pytorchjobs"
    token = token_of(cluster, namespace, "mei.lin", VIEW, PODS)
    with ConsoleProcess(cluster, tmp_path, mode="token") as console, browser(console, token, "bert-large") as process:
        go_on(process, "signed in")
        job = cluster.api.create(jobs, JOB)
        tell(process)
        go_on(process, "the job appeared")
        condition = {"type": "Failed", "status": "True", "reason": "Hostile", "message": HOSTILE}
        status = {"state": "Failed", "message": HOSTILE, "conditions": [condition]}
        cluster.api.call("PUT", f"{jobs}/bert-large/status", {**job, "status": status})
        tell(process)
        go_on(process, "the job is open")
        cluster.api.delete(f"{jobs}/bert-large")
        tell(process)
        go_on(process, "done")
