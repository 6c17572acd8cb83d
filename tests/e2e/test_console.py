"""The log of a real container in the console: with the person's own token, while it is written."""

import urllib.request
from pathlib import Path

from harness.drivers.console_process import ConsoleProcess, token_of
from harness.drivers.operator_process import Operator
from testbed.cluster import Cluster
from testbed.waiting import until

RIGHTS = (
    {"apiGroups": ["training.kubedl.io"], "resources": ["pytorchjobs"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
)
PROGRAM = "import time; print('first', flush=True); time.sleep(5); print('second', flush=True); time.sleep(600)"
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def test_a_log_is_followed(cluster: Cluster, namespace: str, operator: Operator, tmp_path: Path) -> None:
    """Its second line arrives in the same answer, seconds after the first."""
    operator.insist()
    jobs = f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/pytorchjobs"
    container = {"name": "pytorch", "image": cluster.image("base"), "command": ["python3", "-c", PROGRAM]}
    template = {"spec": {"containers": [container]}}
    body = {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": "PyTorchJob",
        "metadata": {"name": "talks"},
        "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template}}},
    }
    with ConsoleProcess(cluster, tmp_path) as console:
        ada = token_of(cluster, namespace, "ada", *RIGHTS)
        cluster.api.create(jobs, body)
        page = f"/api/v1/jobs/{namespace}/pytorchjob/talks"

        def runs() -> bool:
            answer = console.get(page, ada)
            return answer.status == 200 and [pod["phase"] for pod in answer.json()["pods"]] == ["Running"]

        until("the pod to run", runs, deadline=120)
        request = urllib.request.Request(  # noqa: S310
            f"{console.url}{page}/logs/talks-master-0", headers={"Authorization": f"Bearer {ada}"}
        )
        with _opener.open(request, timeout=60) as log:
            lines = [log.readline().decode().split(" ", 1) for _ in range(2)]
        assert [text.strip() for _, text in lines] == ["first", "second"]
        assert lines[0][0] < lines[1][0]  # the times of the node
