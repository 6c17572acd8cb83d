"""Built-in objects as the API server really writes them."""

from datetime import UTC, datetime

from kubedl.kube import codec
from kubedl.kube.types.core import LEASES, NODES, Lease, LeaseSpec, Node, Pod

POD = b"""{
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {
    "name": "job-worker-0", "namespace": "team", "uid": "u", "resourceVersion": "123",
    "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": null, "deletionGracePeriodSeconds": 30,
    "labels": {"training.kubedl.io/job-name": "job"},
    "ownerReferences": [{"apiVersion": "training.kubedl.io/v1alpha1", "kind": "TFJob", "name": "job", "uid": "j",
                         "controller": true, "blockOwnerDeletion": true}],
    "managedFields": [{"manager": "kubedl", "operation": "Update"}]
  },
  "spec": {"nodeName": "node1", "containers": [{"name": "tensorflow", "image": "i"}]},
  "status": {
    "phase": "Failed", "qosClass": "BestEffort",
    "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                    "lastProbeTime": null, "lastTransitionTime": "2026-01-02T03:04:06Z"}],
    "containerStatuses": [{
      "name": "tensorflow", "ready": false, "restartCount": 2, "started": false, "image": "i", "imageID": "",
      "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-01-02T03:04:06Z"}},
      "lastState": {}
    }]
  }
}"""


def test_a_pod_is_read_with_what_decides_about_it() -> None:
    pod = codec.decode(POD, Pod)
    [container] = pod.status.container_statuses
    assert container.state.terminated is not None
    assert (container.state.terminated.exit_code, container.state.terminated.reason) == (137, "OOMKilled")
    assert (container.restart_count, container.last_state.terminated) == (2, None)
    assert pod.metadata.controller is not None
    assert pod.metadata.controller.uid == "j"
    assert pod.metadata.creation_timestamp == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert pod.metadata.deletion_timestamp is None
    assert pod.spec.node_name == "node1"


def test_a_pods_condition_is_found_by_its_type() -> None:
    pod = codec.decode(POD, Pod)
    condition = pod.condition("DisruptionTarget")
    assert condition is not None
    assert condition.reason == "EvictionByEvictionAPI"
    assert pod.condition("Ready") is None


def test_a_node_is_lost_since_its_condition_says_so() -> None:
    def node(status: str) -> Node:
        condition = {"type": "Ready", "status": status, "lastTransitionTime": "2026-01-02T03:04:05Z"}
        return NODES.decoder.decode(codec.encode({"status": {"conditions": [condition]}}))

    assert node("Unknown").not_ready_since == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert node("True").not_ready_since is None
    assert node("False").not_ready_since is None  # it speaks to us, so it is not lost
    assert Node().not_ready_since is None


def test_a_lease_that_nobody_holds_has_no_holder() -> None:
    lease = LEASES.decoder.decode(b'{"metadata": {"name": "l"}, "spec": {"renewTime": "2026-01-02T03:04:05.000006Z"}}')
    assert lease.spec.holder_identity == ""
    assert lease.spec.renew_time == datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert Lease().spec == LeaseSpec()
