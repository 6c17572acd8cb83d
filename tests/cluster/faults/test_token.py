"""A token in a file is replaced while the operator runs, and the old one is refused at once."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from signal import SIGKILL

import yaml

from harness.drivers.api_connection import Connection
from harness.drivers.environment import Stage, times
from harness.drivers.operator_process import kubeconfig_of
from harness.scenarios.many_jobs import Fleet
from testbed.waiting import until

BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
ROUNDS = times(2, 10)


def test_a_rotated_token_is_read_again(
    ready_stage: Stage, namespace: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Each token dies with the Secret that it is bound to; the operator goes on with the next one."""
    record_property("repetitions", ROUNDS)
    server = ready_stage.watcher.connection
    file = tmp_path / "token"
    _account(server, namespace)
    _new_token(server, namespace, 0, file)
    kubeconfig = _with_token_file(Path(kubeconfig_of(ready_stage.cluster, "kubedl-operator")), file, tmp_path)
    arguments = ["--kubeconfig", str(kubeconfig), "--address", "127.0.0.1:0", "--no-leader-election"]
    child = ready_stage.forkserver.start([*arguments, "--namespace", namespace], tmp_path / "operator.log")
    fleet = Fleet(ready_stage, namespace)
    try:
        for number in range(ROUNDS):
            fleet.create([f"job-{number}"], {"Worker": 1})
            fleet.until_pods(number + 1)
            old = file.read_text()
            _new_token(server, namespace, number + 1, file)
            server.delete(f"/api/v1/namespaces/{namespace}/secrets/token-{number}")
            until("the old token to be refused", partial(_refused, server, old), deadline=60)
        fleet.create(["last"], {"Worker": 1})
        fleet.until_pods(ROUNDS + 1)
    finally:
        child.send_signal(SIGKILL)
        child.wait(60)
        server.delete(f"{BINDINGS}/{namespace}")


def _account(server: Connection, namespace: str) -> None:
    server.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "operator"}})
    subject = {"kind": "ServiceAccount", "name": "operator", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    server.create(BINDINGS, {"metadata": {"name": namespace}, "subjects": [subject], "roleRef": role})


def _new_token(server: Connection, namespace: str, number: int, file: Path) -> None:
    place = f"/api/v1/namespaces/{namespace}"
    server.create(f"{place}/secrets", {"metadata": {"name": f"token-{number}"}})
    bound = {"kind": "Secret", "apiVersion": "v1", "name": f"token-{number}"}
    request = {"spec": {"boundObjectRef": bound, "expirationSeconds": 600}}
    answer = server.create(f"{place}/serviceaccounts/operator/token", request)
    file.write_text(answer["status"]["token"])


def _refused(server: Connection, token: str) -> bool:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
    answer = server.create("/apis/authentication.k8s.io/v1/tokenreviews", review)
    return not answer["status"].get("authenticated", False)


def _with_token_file(kubeconfig: Path, file: Path, directory: Path) -> Path:
    config = yaml.safe_load(kubeconfig.read_text())
    config["users"][0]["user"] = {"tokenFile": str(file)}
    path = directory / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path
