"""A person in a real Chromium does all that a job needs by keyboard alone."""

from pathlib import Path

from harness.drivers.api_connection import Connection
from harness.drivers.console_objects import Team
from harness.drivers.console_process import ConsoleProcess, token_of
from harness.fakes.kubelet import node_with_logs
from testbed.cluster import Cluster
from tests.browser.scripts import browser, go_on, tell
from tests.browser.test_console import PODS, VIEW

CHANGE = {"apiGroups": ["training.kubedl.io"], "resources": ["pytorchjobs"], "verbs": ["create", "patch", "delete"]}
LOGS = {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}
LAST_LINE = "loss 0.42 after 1,200 steps"
JOB = "bert-large"


def test_a_person_works_by_keyboard_alone(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """From the sign-in to the log, two dialogs, a form and back; the focus is visible and never lost."""
    jobs = f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/pytorchjobs"
    lines = [*(f"step {number}" for number in range(200)), LAST_LINE]
    token = token_of(cluster, namespace, "mei.lin", VIEW, PODS, LOGS, CHANGE)
    with (
        ConsoleProcess(cluster, tmp_path, mode="token") as console,
        Connection(cluster) as connection,
        node_with_logs(cluster, connection, f"logs-of-{namespace}", lines),
    ):
        team = Team(connection, namespace)
        made = team.job(JOB, user="mei.lin", status={"state": "Running"})
        team.pod(f"{JOB}-worker-0", made, on=f"logs-of-{namespace}")
        given = {"JOB": JOB, "NAMESPACE": namespace, "LAST_LINE": LAST_LINE}
        with browser("keyboard", console, token, **given) as process:
            go_on(process, "suspended")
            assert cluster.api.get(f"{jobs}/{JOB}")["spec"]["suspend"] is True
            tell(process)
            go_on(process, "resumed")
            assert not cluster.api.get(f"{jobs}/{JOB}")["spec"]["suspend"]
            tell(process)
            go_on(process, "submitted")
            assert cluster.api.exists(f"{jobs}/by-keys")
            tell(process)
            go_on(process, "deleted")
            assert not cluster.api.exists(f"{jobs}/by-keys")
            tell(process)
            go_on(process, "done")
