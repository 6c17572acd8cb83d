"""A person in a real Chromium suspends, resumes and deletes a job; the API server's audit log knows who it was."""

from pathlib import Path
from typing import Any

from harness.drivers import audit_log
from harness.drivers.console_process import USER, ConsoleProcess, token_of
from testbed.cluster import Cluster
from tests.browser.scripts import browser, go_on, tell
from tests.browser.test_console import JOB, PODS, VIEW

CHANGE = {"apiGroups": ["training.kubedl.io"], "resources": ["pytorchjobs"], "verbs": ["patch", "delete"]}
TEMPLATE = {"spec": {"containers": [{"name": "tensorflow", "image": "train:1"}]}}
READ_ONLY: dict[str, Any] = {
    "apiVersion": "training.kubedl.io/v1alpha1",
    "kind": "TFJob",
    "metadata": {"name": "read-only"},
    "spec": {"tfReplicaSpecs": {"Worker": {"replicas": 1, "template": TEMPLATE}}},
}
USER_OF_JOB, OTHER = "kubedl.io/user", "tomas.k"
REVIEWS = {"tokenreviews", "subjectaccessreviews"}


def test_a_job_is_suspended_resumed_and_deleted(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """With the token of the person: the console's account has no right to change anything."""
    since = audit_log.now()
    group = f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}"
    jobs, name = f"{group}/pytorchjobs", "bert-large"
    token = token_of(cluster, namespace, "mei.lin", VIEW, PODS, CHANGE)
    with ConsoleProcess(cluster, tmp_path, mode="token") as console:
        first = cluster.api.create(jobs, JOB)
        cluster.api.create(f"{group}/tfjobs", READ_ONLY)
        with browser("job-actions", console, token, JOB=name, OTHER=OTHER) as process:
            go_on(process, "suspended")
            assert cluster.api.get(f"{jobs}/{name}")["spec"]["suspend"] is True
            tell(process)
            go_on(process, "resumed")
            assert not cluster.api.get(f"{jobs}/{name}")["spec"]["suspend"]
            tell(process)
            go_on(process, "asked")
            cluster.api.delete(f"{jobs}/{name}")
            second = cluster.api.create(jobs, {**JOB, "metadata": {"name": name, "annotations": {USER_OF_JOB: OTHER}}})
            assert second["metadata"]["uid"] != first["metadata"]["uid"]
            tell(process)
            go_on(process, "deleted")
            assert not cluster.api.exists(f"{jobs}/{name}")
            tell(process)
            go_on(process, "done")
    person = f"system:serviceaccount:{namespace}:mei.lin"
    found = [(one.verb, one.name) for one in audit_log.writes(cluster, person, since) if one.resource == "pytorchjobs"]
    assert found == [("patch", name), ("patch", name), ("delete", name)]
    assert {one.resource for one in audit_log.writes(cluster, USER, since)} <= REVIEWS
