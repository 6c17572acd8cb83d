"""Volumes of models whose claim is gone; nobody else's, and none that is in use."""

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from kubedl.kube.types.meta import ObjectKey, ObjectMeta
from kubedl.models.volume_gc import VolumeGarbageCollector
from kubedl.podspec.model_volumes import CLAIM_NAMESPACE, PERSISTENT_VOLUMES, PersistentVolume, VolumeStatus
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from tests.training_builders import NOW
from tests.unit.training.api_model import ApiModel, ClientModel

if TYPE_CHECKING:
    from kubedl.kube.client import Client

OURS = {CLAIM_NAMESPACE: "team"}


@pytest.mark.parametrize(
    ("phase", "fields", "left"),
    [
        ("Released", {"labels": OURS}, 0),
        ("Bound", {"labels": OURS}, 1),
        ("Available", {"labels": OURS}, 1),
        ("", {"labels": OURS}, 1),
        ("Released", {}, 1),
        ("Released", {"labels": OURS, "deletion_timestamp": NOW}, 1),
    ],
)
def test_only_what_nobody_can_use_goes(phase: str, fields: dict[str, Any], left: int) -> None:
    """Kubernetes says which that is."""
    api = ApiModel(NOW)
    metadata = ObjectMeta(name="mv-pv", uid="1", **fields)
    api.put(PERSISTENT_VOLUMES, PersistentVolume(metadata=metadata, status=VolumeStatus(phase=phase)))
    store: Store[PersistentVolume] = Store()
    store.replace(list(api.all(PERSISTENT_VOLUMES)))
    client = cast("Client", ClientModel(api, lambda *_: None))
    controller = VolumeGarbageCollector(store, Writer(client, Expectations({})))
    assert asyncio.run(controller.reconcile(ObjectKey("", "mv-pv"))) is None
    assert asyncio.run(controller.reconcile(ObjectKey("", "gone"))) is None
    assert len(list(api.all(PERSISTENT_VOLUMES))) == left
