"""How objects and their kinds are named."""

import gc

import pytest

from kubedl.kube import codec
from kubedl.kube.types.core import LEASES, NODES, PODS, Pod
from kubedl.kube.types.meta import ObjectKey, ObjectMeta, OwnerReference


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS.path(), "/api/v1/pods"),
        (PODS.path("team"), "/api/v1/namespaces/team/pods"),
        (PODS.path("team", "a"), "/api/v1/namespaces/team/pods/a"),
        (PODS.path("team", "a", "status"), "/api/v1/namespaces/team/pods/a/status"),
        (PODS.path("team", "a/../b"), "/api/v1/namespaces/team/pods/a%2F..%2Fb"),
        (NODES.path("ignored", "n"), "/api/v1/nodes/n"),
        (LEASES.path("team", "l"), "/apis/coordination.k8s.io/v1/namespaces/team/leases/l"),
    ],
)
def test_a_kind_is_found_under_its_path(path: str, expected: str) -> None:
    assert path == expected


def test_a_kind_has_names_for_people_and_for_manifests() -> None:
    assert (PODS.name, PODS.api_version) == ("pods", "v1")
    assert (LEASES.name, LEASES.api_version) == ("leases.coordination.k8s.io", "coordination.k8s.io/v1")


def test_a_key_reads_as_people_write_it() -> None:
    assert [str(ObjectKey("team", "a")), str(ObjectKey("", "node"))] == ["team/a", "node"]
    assert ObjectMeta(namespace="team", name="a").key == ObjectKey("team", "a")


def test_the_controller_is_the_one_owner_that_manages() -> None:
    owners = [OwnerReference(api_version="v1", kind="K", name=name, uid=name, controller=name == "b") for name in "ab"]
    assert ObjectMeta(owner_references=tuple(owners)).controller == owners[1]
    assert ObjectMeta(owner_references=(owners[0],)).controller is None


def test_objects_cost_the_garbage_collector_nothing() -> None:
    """A hundred thousand pods in a cache must not make it stop the loop."""
    pod = codec.decode(b'{"metadata": {"name": "a", "ownerReferences": []}, "status": {"phase": "Running"}}', Pod)
    assert not any(map(gc.is_tracked, (pod, pod.metadata, pod.status)))
