"""The control plane is a production one where it matters: authorization, audit, admission, gangs."""

import ssl
import urllib.error
import urllib.request

import pytest

from harness.drivers import audit_log
from testbed.api import Api, ApiError
from testbed.cluster import Cluster
from testbed.pki import Identity
from testbed.waiting import until


def test_rbac_refuses_a_user_without_rights(cluster: Cluster, namespace: str) -> None:
    """Without RBAC every later test of least privilege would pass for nothing."""
    files = cluster.authority.issue(f"nobody-{namespace}", Identity("nobody"))
    nobody = Api(cluster.instance.server, cluster.authority.certificate, *files)
    with pytest.raises(ApiError, match="cannot list resource") as refused:
        nobody.list(f"/api/v1/namespaces/{namespace}/pods")
    assert refused.value.status == 403


def test_writes_are_in_the_audit_log(cluster: Cluster, namespace: str) -> None:
    """Later tests read from it who wrote what, and in which order."""
    since = audit_log.now()
    cluster.api.create(f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": "traced"}})

    def traced() -> bool:
        found = audit_log.writes(cluster, "admin", since)
        return any((one.verb, one.namespace, one.name) == ("create", namespace, "traced") for one in found)

    until("the write in the audit log", traced, deadline=60)


def test_whoever_asks_with_a_pods_token_is_in_the_audit_log(cluster: Cluster, namespace: str) -> None:
    """Reads too, and refused ones: later tests read from it that pods without rights ask for nothing."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    cluster.api.create(accounts, {"metadata": {"name": "curious"}})
    token = cluster.api.create(f"{accounts}/curious/token", {"spec": {}})["status"]["token"]
    request = urllib.request.Request(  # noqa: S310 - the test bed's own
        f"{cluster.instance.server}/api/v1/namespaces/{namespace}/secrets", headers={"Authorization": f"Bearer {token}"}
    )
    trusting = urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=cluster.authority.certificate))
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.build_opener(urllib.request.ProxyHandler({}), trusting).open(request, timeout=60)
    user = f"system:serviceaccount:{namespace}:curious"
    until("the question in the audit log", lambda: audit_log.requests(cluster, user), deadline=60)
    [asked] = audit_log.requests(cluster, user)
    assert (asked.verb, asked.resource, asked.code) == ("list", "secrets", 403)


def test_pods_get_a_service_account(cluster: Cluster, namespace: str) -> None:
    """ServiceAccount admission is on: a pod is created with its account and token volume."""
    body = {"metadata": {"name": "plain"}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
    created = cluster.api.create(f"/api/v1/namespaces/{namespace}/pods", body)
    assert created["spec"]["serviceAccountName"] == "default"
    assert any("projected" in volume for volume in created["spec"]["volumes"])


def test_the_native_gang_api_is_served(cluster: Cluster, namespace: str) -> None:
    """scheduling.k8s.io/v1alpha2 PodGroup, which the API server serves only behind its gates."""
    group = {"metadata": {"name": "gang"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
    path = f"/apis/scheduling.k8s.io/v1alpha2/namespaces/{namespace}/podgroups"
    created = cluster.api.create(path, {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", **group})
    assert created["spec"]["schedulingPolicy"]["gang"]["minCount"] == 2


def test_a_peers_crds_come_from_its_module(cluster: Cluster) -> None:
    """JobSet is the example that later peers and engines follow."""
    cluster.install_custom_resources("jobset")
    served = cluster.api.get("/apis/jobset.x-k8s.io")
    assert served["preferredVersion"]["version"] == "v1alpha2"


def test_a_second_start_finds_the_first(cluster: Cluster) -> None:
    """`up` is what every test process calls: it must cost nothing when the cluster is there."""
    before = cluster.api.get("/api/v1/namespaces/kube-system")["metadata"]["uid"]
    Cluster(cluster.instance.index).up(keep=False)
    assert cluster.api.get("/api/v1/namespaces/kube-system")["metadata"]["uid"] == before
