"""Whoever makes an object that its owner waits for must be allowed to update the owner's finalizers.

An admission plugin asks, and no log has its question; so here the right is taken away.
"""

import pytest

from harness.drivers.operator_process import Operator, install_custom_resources
from harness.experiments import rbac_audit
from testbed.cluster import Cluster
from testbed.controlplane import AUDITED
from testbed.pki import Identity
from testbed.waiting import until

USER = "kubedl-operator-without"
JOB = {
    "apiVersion": "training.kubedl.io/v1alpha1",
    "kind": "TFJob",
    "metadata": {"name": "owner"},
    "spec": {
        "tfReplicaSpecs": {
            "Worker": {"replicas": 1, "template": {"spec": {"containers": [{"name": "tensorflow", "image": "none"}]}}}
        }
    },
}


@pytest.mark.parametrize("given", [True, False])
def test_finalizers_are_asked_about(cluster: Cluster, namespace: str, given: bool) -> None:
    """With the right there are pods; without it the job is told why there are none."""
    install_custom_resources(cluster)
    user = f"{USER}-{given}".lower()
    cluster.authority.issue(user, Identity(user, AUDITED))
    left = [
        {**rule, "resources": [one for one in rule["resources"] if given or not one.endswith("/finalizers")]}
        for rule in rbac_audit.rules("operator", "operator-outside")
    ]
    rbac_audit.grant(
        cluster, user, [rule for rule in left if rule["resources"]], rbac_audit.rules("operator-own"), user
    )
    kubeconfig = cluster.authority.kubeconfig(user)
    place = f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/tfjobs"
    with Operator(cluster, kubeconfig=kubeconfig, arguments=("--no-leader-election", "--namespace", namespace)):
        cluster.api.create(place, JOB)

        def told() -> str:
            status = cluster.api.get(f"{place}/owner").get("status") or {}
            return " ".join(one.get("message", "") for one in status.get("conditions") or ())

        if given:
            until("a pod", lambda: cluster.api.list(f"/api/v1/namespaces/{namespace}/pods"), deadline=60)
        else:
            until("the refusal", lambda: "cannot set blockOwnerDeletion" in told(), deadline=60)
            assert cluster.api.list(f"/api/v1/namespaces/{namespace}/pods") == []
