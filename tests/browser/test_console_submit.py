"""A person in a real Chromium submits a job by the form, and submits it again."""

from pathlib import Path

from harness.drivers.console_process import ConsoleProcess, token_of
from testbed.cluster import Cluster
from tests.browser.scripts import browser, go_on, tell
from tests.browser.test_console import PODS, VIEW

CREATE = {"apiGroups": ["training.kubedl.io"], "resources": ["pytorchjobs"], "verbs": ["create"]}


def test_a_job_is_submitted_by_the_form(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """The API server's words stand beside the fields, and a check creates nothing."""
    jobs = f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/pytorchjobs"
    token = token_of(cluster, namespace, "mei.lin", VIEW, PODS, CREATE)
    with (
        ConsoleProcess(cluster, tmp_path, mode="token") as console,
        browser("submit", console, token, NAMESPACE=namespace) as process,
    ):
        go_on(process, "checked")
        assert cluster.api.list(jobs) == []
        tell(process)
        go_on(process, "submitted")
        roles = cluster.api.get(f"{jobs}/from-form")["spec"]["pytorchReplicaSpecs"]
        container = roles["Worker"]["template"]["spec"]["containers"][0]
        assert (roles["Worker"]["replicas"], container["image"]) == (2, "train:1")
        assert container["command"] == ["python", "train.py", "--text", "two words"]
        assert container["resources"]["limits"] == {"nvidia.com/gpu": "2"}
        tell(process)
        go_on(process, "done")
    assert sorted(one["metadata"]["name"] for one in cluster.api.list(jobs)) == ["from-form", "from-form-r2"]
