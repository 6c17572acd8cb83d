"""KubeDL's console as users run it: its own process beside a cluster, and people with tokens of their own.

`with ConsoleProcess(cluster, directory) as console:` returns when its caches are filled.
"""

import json
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from harness.drivers.operator_process import free_port, install_custom_resources
from harness.drivers.process import Process
from harness.experiments import rbac_audit
from testbed.cluster import Cluster
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
    """A console with the rights of the chart and no others."""

    def __init__(self, cluster: Cluster, directory: Path, *arguments: str, mode: str = "proxy") -> None:
        self._cluster, self._port, self._health = cluster, free_port(), free_port()
        cluster.authority.issue(USER, Identity(USER))
        rbac_audit.grant(cluster, USER, rbac_audit.rules("console", "console-outside"), [], USER)
        command = [sys.executable, "-m", "kubedl.entrypoints.command", "console", f"--mode={mode}", "--cluster=test"]
        command += ["--kubeconfig", str(cluster.authority.kubeconfig(USER))]
        command += ["--address", f"127.0.0.1:{self._port}", "--health-address", f"127.0.0.1:{self._health}"]
        super().__init__([*command, *arguments], directory / "console.log", {"PYTHONPATH": str(ROOT / "src")}, ROOT)

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

    def get(self, path: str, token: str) -> Answer:
        """Ask as somebody, as a proxy in front would."""
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {token}"})  # noqa: S310
        try:
            with _opener.open(request, timeout=30) as answer:
                return Answer(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, error.read())


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
