"""KubeDL as an administrator installs it: the chart, its image from the cluster's registry, a restricted namespace.

`with installed(cluster) as installation:` returns when Helm says that all is ready, and takes everything away at the
end but the definitions, which the chart keeps. One installation at a time serves a cluster.

Helm is run as the docs tell people to, so what stands in its way is taken away first: a release that a killed test
left, definitions that tests brought without Helm, with every object of theirs, and roles.
"""

import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.drivers.helm import CHART, Helm
from kubedl.api.scaling import GROUP as SCALING
from testbed.api import Object, is_true
from testbed.cluster import Cluster
from testbed.controlplane import AUDITED_NAMESPACE
from testbed.errors import TestbedError
from testbed.shell import attempt, run
from testbed.waiting import until

ROOT = Path(__file__).parents[2]
NAMESPACE = AUDITED_NAMESPACE
RELEASE = "kubedl"
OPERATOR = "kubedl-operator"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io/component=operator"
USER = f"system:serviceaccount:{NAMESPACE}:{OPERATOR}"
REPLICAS = 2  # of the operator, unless told otherwise
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CLUSTER_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
ROLES = (OPERATOR, "kubedl-edit", "kubedl-view")
GROUPS = (".kubedl.io", f".{SCALING}")
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}


@dataclass
class Installation:
    """One release."""

    cluster: Cluster
    helm: Helm
    values: dict[str, Any]
    seconds: float = 0.0  # until everything was ready

    def install(self, chart: Path = CHART, image: str = "") -> None:
        """A chart, with an image: by default the one of this code."""
        values = {**self.values, **self._image(image)}  # which may be built first
        began = time.monotonic()
        self.helm.install(RELEASE, NAMESPACE, values, chart)
        self.seconds = time.monotonic() - began

    def upgrade(self, chart: Path = CHART, image: str = "") -> None:
        """To a chart and an image; what else was set stays."""
        self.helm.upgrade(RELEASE, NAMESPACE, self._image(image), chart)

    def rollback(self) -> None:
        """To what was there before the upgrade."""
        self.helm.rollback(RELEASE, NAMESPACE)

    def uninstall(self) -> None:
        """If there is a release; the Lease, which is the operator's own, goes with it."""
        if RELEASE in self.helm.releases(NAMESPACE):
            self.helm.uninstall(RELEASE, NAMESPACE)
            # Helm waits for the Deployment; its pods go by the garbage collector, which pauses while definitions go.
            until("the operators to be gone", lambda: not self.cluster.api.list(PODS), deadline=120)
        for lease in _leases(self.cluster, self.values.get("namespace") or ""):
            self.cluster.api.delete(lease)

    def test(self) -> str:
        """`helm test`."""
        return self.helm.test(RELEASE, NAMESPACE)

    def pods(self) -> list[Object]:
        """The operator's, those that go aside."""
        return [pod for pod in self.cluster.api.list(PODS) if "deletionTimestamp" not in pod["metadata"]]

    def log(self, pod: Object) -> str:
        """What an operator has said."""
        return self.cluster.kubectl(f"--namespace={NAMESPACE}", "logs", pod["metadata"]["name"])

    def leader(self) -> Object | None:
        """The pod that holds the Lease, if it is there and ready."""
        holder = self.holder()
        for pod in self.pods():
            if holder.startswith(f"{pod['metadata']['name']}_") and is_true(pod, "Ready"):
                return pod
        return None

    def holder(self) -> str:
        """Who holds the Lease."""
        for lease in _leases(self.cluster, self.values.get("namespace") or ""):
            if holder := self.cluster.api.get(lease)["spec"].get("holderIdentity"):
                return str(holder)
        return ""

    def until_led(self, deadline: float = 60) -> Object:
        """Wait until one of as many ready operators as are wanted leads."""
        wanted = self.values.get("replicas", REPLICAS)

        def led() -> Object:
            leader, ready = self.leader(), [is_true(pod, "Ready") for pod in self.pods()]
            if leader is None or not all(ready) or len(ready) < wanted:
                holder = self.holder() or "nobody"
                raise TimeoutError(f"{holder} holds the Lease, {sum(ready)} of {wanted} are ready")
            return leader

        return until("an operator to lead, and all to be ready", led, deadline=deadline)

    def _image(self, image: str) -> dict[str, Any]:
        repository, _, tag = (image or self.cluster.image("kubedl")).rpartition(":")
        return {"image": {"repository": repository, "tag": tag}}


@contextmanager
def installed(
    cluster: Cluster, values: Mapping[str, Any] | None = None, chart: Path = CHART, image: str = ""
) -> Iterator[Installation]:
    """The chart in its namespace, which enforces PodSecurity *restricted*."""
    installation = Installation(cluster, Helm(cluster), dict(values or {}))
    make_namespace(cluster)
    installation.uninstall()
    remove_foreign(cluster)
    try:
        installation.install(chart, image)
        yield installation
    finally:
        installation.uninstall()


def make_namespace(cluster: Cluster) -> None:
    """Where the chart is installed, unless it is there."""
    if not cluster.api.exists(f"/api/v1/namespaces/{NAMESPACE}"):
        cluster.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE, "labels": RESTRICTED}})


def remove_foreign(cluster: Cluster, deadline: float = 120) -> None:
    """Delete definitions and roles of ours that others than Helm have written to: it would not install over them."""

    def foreign() -> list[tuple[str, Object]]:
        found = [(place, one) for place in (DEFINITIONS, CLUSTER_ROLES) for one in cluster.api.list(place)]
        return [(f"{place}/{one['metadata']['name']}", one) for place, one in found if _is_foreign(one)]

    def gone() -> bool:
        if left := foreign():
            raise TimeoutError("; ".join(_why_it_stays(one) for _, one in left))
        return True

    for path, _ in foreign():
        cluster.api.delete(path)
    until("what others than Helm installed to be gone", gone, deadline=deadline)


def first_chart(cluster: Cluster, directory: Path) -> tuple[Path, str]:
    """The chart of the first commit that has one, and the image of that commit's code in the cluster's registry."""
    archive = directory / "first.tar"
    run("git", "-C", str(ROOT), "archive", f"--output={archive}", first_commit(ROOT))
    source = directory / "first"
    with tarfile.open(archive) as content:
        content.extractall(source, filter="data")
    command = [sys.executable, "-m", "testbed", "--instance", str(cluster.instance.index), "push", "kubedl"]
    pushed = subprocess.run(command, cwd=source, stdout=subprocess.PIPE, text=True, check=True)
    return source / "deploy" / "chart", pushed.stdout.split()[-1]


def first_commit(root: Path) -> str:
    """The first commit that has a chart."""
    needed = "the first chart is packed from git's history"
    shallow = attempt("git", "-C", str(root), "rev-parse", "--is-shallow-repository")
    if shallow.returncode:
        raise TestbedError(f"{needed}, and {root} is no clone: {shallow.stderr.strip()}")
    if shallow.stdout.strip() == "true":
        raise TestbedError(f"{needed}, and {root} is a shallow clone: run `git fetch --unshallow`")
    commits = run("git", "-C", str(root), "log", "--diff-filter=A", "--format=%H", "--", "deploy/chart/Chart.yaml")
    if not commits:
        raise TestbedError(f"{needed}, and no commit of {root} has one")
    return commits.split()[-1]


def _is_foreign(one: Object) -> bool:
    name, fields = one["metadata"]["name"], one["metadata"].get("managedFields", ())
    writers = {field["manager"] for field in fields if not field.get("subresource")}
    return (name in ROLES or name.endswith(GROUPS)) and writers != {"helm"}


def _why_it_stays(one: Object) -> str:
    """A definition stays with an object that cannot be deleted, and says so."""
    conditions = one.get("status", {}).get("conditions") or []
    why = next((each["message"] for each in conditions if each["type"] == "Terminating"), "not being deleted")
    return f"{one['metadata']['name']}: {why}"


def _leases(cluster: Cluster, served: str) -> list[str]:
    """Of the operators of a release, which may have its Lease beside itself or beside what it serves."""
    names = OPERATOR, f"{OPERATOR}-{served or NAMESPACE}"
    places = [f"/apis/coordination.k8s.io/v1/namespaces/{place}/leases" for place in {NAMESPACE, served or NAMESPACE}]
    found = [f"{place}/{name}" for place in places for name in names]
    return [path for path in found if cluster.api.exists(path)]
