"""KubeDL's console as users run it: its own process beside a cluster, and people with tokens of their own.

`with ConsoleProcess(cluster, directory) as console:` returns when its caches are filled.
"""

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from harness.drivers.operator_process import free_port, install_custom_resources
from harness.drivers.process import Process
from harness.experiments import rbac_audit
from kubedl.client.history_database import DATABASE
from kubedl.console.safety import MARK
from testbed.cluster import Cluster
from testbed.controlplane import AUDITED
from testbed.http import answers
from testbed.pki import Identity
from testbed.waiting import until

USER = "console-of-tests"  # not a name of the chart, which may be installed on the same cluster
ROOT = Path(__file__).parents[2]
DEADLINE = 60.0

_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Answer:
    """An answer of the console."""

    status: int
    body: bytes

    def json(self) -> Any:  # noqa: ANN401 - whatever it is
        """Return the body."""
        return json.loads(self.body)


class ConsoleProcess(Process):
    """A console with the rights of the chart and no others; all that it asks for is in the audit log."""

    def __init__(
        self,
        cluster: Cluster,
        directory: Path,
        *arguments: str,
        mode: str = "proxy",
        kubeconfig: Path | None = None,
        history: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """A kubeconfig names another way to the API server, as with a fault proxy between; `history` a database."""
        self._cluster, self._port, self._health = cluster, free_port(), free_port()
        give_rights(cluster)
        command = [sys.executable, "-m", "kubedl.entrypoints.command", "console", f"--mode={mode}", "--cluster=test"]
        command += ["--kubeconfig", str(kubeconfig or cluster.authority.kubeconfig(USER))]
        command += ["--address", f"127.0.0.1:{self._port}", "--health-address", f"127.0.0.1:{self._health}"]
        given = {"PYTHONPATH": str(ROOT / "src"), DATABASE: history, **(environment or {})}
        super().__init__([*command, *arguments], directory / "console.log", given, ROOT)

    def __enter__(self) -> Self:
        install_custom_resources(self._cluster)
        super().__enter__()
        address = f"http://127.0.0.1:{self._health}/readyz"
        try:
            until("the console to be ready", lambda: self.insist() and answers(address), deadline=DEADLINE)
        except BaseException:
            self.kill()
            raise
        return self

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def metrics(self) -> str:
        """Its metrics, as Prometheus reads them."""
        with _opener.open(f"http://127.0.0.1:{self._health}/metrics", timeout=30) as answer:
            text: str = answer.read().decode()
        return text

    def get(self, path: str, token: str) -> Answer:
        """Ask as somebody, as a proxy in front would."""
        return self.ask("GET", path, token)

    def ask(self, method: str, path: str, token: str, body: object = None) -> Answer:
        """Ask as somebody, with the mark of the console's own page; without a token as nobody."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310
            self.url + path, content, {**headers, MARK: "1", "Content-Type": "application/json"}, method=method
        )
        try:
            with _opener.open(request, timeout=30) as answer:
                return Answer(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.read())


def give_rights(cluster: Cluster) -> None:
    """Let the user of the console have the rights of the chart and no others."""
    cluster.authority.issue(USER, Identity(USER, AUDITED))
    rbac_audit.grant(cluster, USER, rbac_audit.rules("console", "console-outside"), [], USER)


def token_of(cluster: Cluster, namespace: str, name: str, *rules: dict[str, Any]) -> str:
    """Return a token of a new person, who has these rights in a namespace."""
    api, rbac = cluster.api, f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    account = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    api.create(account, {"metadata": {"name": name}})
    api.create(f"{rbac}/roles", {"metadata": {"name": name}, "rules": list(rules)})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    person = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    api.create(f"{rbac}/rolebindings", {"metadata": {"name": name}, "roleRef": role, "subjects": [person]})
    made = api.create(f"{account}/{name}/token", {"spec": {}})
    token: str = made["status"]["token"]
    return token


@contextmanager
def rights_everywhere(cluster: Cluster, namespace: str, account: str, *rules: dict[str, Any]) -> Iterator[None]:
    """Let an account have these rights in all namespaces, and about what is in none, while the block runs."""
    path, name = "/apis/rbac.authorization.k8s.io/v1", f"{account}-of-{namespace}"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
    person = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    cluster.api.create(f"{path}/clusterroles", {"metadata": {"name": name}, "rules": list(rules)})
    binding = {"metadata": {"name": name}, "roleRef": role, "subjects": [person]}
    cluster.api.create(f"{path}/clusterrolebindings", binding)
    try:
        yield
    finally:
        for kind in ("clusterroles", "clusterrolebindings"):
            cluster.api.delete(f"{path}/{kind}/{name}")
