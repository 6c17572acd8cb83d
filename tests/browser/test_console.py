"""A person in a real Chromium signs in, sees a job appear without loading the page again, and opens it."""

from pathlib import Path
from typing import Any

from harness.drivers.console_process import ConsoleProcess, token_of
from testbed.cluster import Cluster
from tests.browser.scripts import browser, go_on, tell

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


def test_a_job_appears_and_is_opened(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """With no request to another origin, no report of the content policy and no error in the browser's log."""
    jobs = f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/pytorchjobs"
    token = token_of(cluster, namespace, "mei.lin", VIEW, PODS)
    with (
        ConsoleProcess(cluster, tmp_path, mode="token") as console,
        browser("job-appears", console, token, JOB="bert-large") as process,
    ):
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
