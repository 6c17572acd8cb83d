"""The console on a real API server, with the rights of the chart: two people, each with a namespace of their own."""

from pathlib import Path
from typing import Any

from harness.drivers.console_process import ConsoleProcess, token_of
from testbed import namespaces
from testbed.api import ApiError, Object
from testbed.cluster import Cluster
from testbed.waiting import until

JOBS = {"apiGroups": ["training.kubedl.io"], "resources": ["pytorchjobs"], "verbs": ["get", "list"]}
PODS = {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["get", "list"]}
LOGS = {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}


def test_two_people_see_their_own_and_nothing_else(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """In the list, on pages and in logs, until the right is taken away."""
    with namespaces.fresh(cluster.api) as other, ConsoleProcess(cluster, tmp_path, "--rights-seconds=2") as console:
        ada = token_of(cluster, namespace, "ada", JOBS, PODS)
        ben = token_of(cluster, other, "ben", JOBS, PODS, LOGS)
        job = _create_job(cluster, namespace, "of-ada")
        _create_job(cluster, other, "of-ben")
        _create_pod(cluster, job)

        def names(token: str) -> list[str]:
            return [row["name"] for row in console.get("/api/v1/jobs", token).json()["rows"]]

        until("both jobs", lambda: (names(ada), names(ben)) == (["of-ada"], ["of-ben"]), deadline=60)
        assert b"of-ben" not in console.get("/api/v1/jobs", ada).body
        page = f"/api/v1/jobs/{namespace}/pytorchjob/of-ada"
        until("the pod", lambda: console.get(page, ada).json()["pods"], deadline=60)
        foreign, absent = (console.get(f"/api/v1/jobs/{namespace}/pytorchjob/{name}", ben) for name in ("of-ada", "no"))
        assert foreign.status == absent.status == 403
        assert b"of-ada" not in foreign.body
        assert console.get(f"{page}/logs/of-ada-master-0", ben).status == 403
        # The API server refuses the log in Ada's name: the console's own account could not read it either.
        refused = console.get(f"{page}/logs/of-ada-master-0", ada)
        assert refused.status == 403
        assert f"system:serviceaccount:{namespace}:ada" in refused.json()["why"]
        assert console.get("/api/v1/jobs", "garbage").status == 401
        assert console.get("/api/v1/jobs", "").status == 401
        path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/ada"
        cluster.api.delete(path)
        until("the right to end", lambda: names(ada) == [], deadline=60)


def _create_job(cluster: Cluster, namespace: str, name: str) -> Object:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "train:1"}]}}
    body: dict[str, Any] = {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template}}},
    }
    return cluster.api.create(f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/pytorchjobs", body)


def _create_pod(cluster: Cluster, job: Object) -> None:
    """A pod as the operator creates it; no node runs it."""
    meta = job["metadata"]
    owner = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": meta["name"], "uid": meta["uid"]}
    metadata = {
        "name": f"{meta['name']}-master-0",
        "labels": {"training.kubedl.io/job-name": meta["name"]},
        "ownerReferences": [{**owner, "controller": True}],
    }
    spec = {"containers": [{"name": "pytorch", "image": "train:1"}]}
    try:
        cluster.api.create(f"/api/v1/namespaces/{meta['namespace']}/pods", {"metadata": metadata, "spec": spec})
    except ApiError as error:
        if error.status != 409:  # else the operator of another test was quicker
            raise
