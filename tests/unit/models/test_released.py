"""Volumes of models whose claim is gone; nobody else's, and none that is in use."""

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

from kubedl.api.model_volumes import CLAIM_NAMESPACE, PERSISTENT_VOLUMES, PersistentVolume, VolumeStatus
from kubedl.models.released import ReleasedVolumes
from kubedl.runtime.gate import Gate
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from kubedl.wire.meta import Key, ObjectMeta
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
    controller = ReleasedVolumes(store, Writer(client, Gate({})))
    assert asyncio.run(controller.reconcile(Key("", "mv-pv"))) is None
    assert asyncio.run(controller.reconcile(Key("", "gone"))) is None
    assert len(list(api.all(PERSISTENT_VOLUMES))) == left
