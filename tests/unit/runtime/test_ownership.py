"""What belongs to an object says so in one way."""

from kubedl.kube.types.core import PODS, Pod
from kubedl.kube.types.meta import ObjectMeta
from kubedl.runtime.events import ObjectReference
from kubedl.runtime.ownership import owner_reference

POD = Pod(metadata=ObjectMeta(name="a", namespace="team", uid="1"))


def test_an_owner_is_the_controller_and_is_deleted_last() -> None:
    assert owner_reference(PODS, POD) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "a",
        "uid": "1",
        "controller": True,
        "blockOwnerDeletion": True,
    }


def test_an_event_is_about_one_object_of_a_kind() -> None:
    assert ObjectReference.of(PODS, POD) == ObjectReference("v1", "Pod", "team", "a", "1")
