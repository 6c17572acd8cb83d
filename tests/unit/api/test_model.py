"""What may be written about a model and its storage: our reader agrees with the rules, and volumes follow from it."""

import re
from typing import Any

import pytest

from kubedl.api import model_storage
from kubedl.api.model import NAME, REPOSITORY, TAG, ModelOutput, validate
from kubedl.api.model_storage import Storage
from kubedl.kube import codec
from kubedl.podspec import model_volumes
from kubedl.podspec.model_volumes import Owner, render_claim, render_volume
from tests.unit.models.versions import CLAIM, EFS, LOCAL, NFS

OWNER = Owner("team", "uid-1", {"uid": "uid-1"})


def storage(body: dict[str, Any]) -> Storage:
    """As it comes from the API server."""
    return codec.decode(codec.encode(body), Storage)


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        (
            REPOSITORY,
            ("models", "simoncqk/models", "modelhub/res_net__a-b.c", "198.18.0.1:5000/a/b", "[::1]:5000/a", "Host.x/a"),
            ("", "a:tag", "hub/a:v1", "hub/a@sha256:x", "/a", "a/", "a//b", "A", "https://hub/a", "a b", "a_", "-a"),
        ),
        (TAG, ("", "v0.1", "_", "A" * 128), ("-a", ".a", "a b", "A" * 129, "a/b")),
        (NAME, ("model1", "a.b", "mnist-model-demo"), ("", "A", "a_b", "-a", "a-", "a..b")),
    ],
)
def test_names(pattern: str, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    """As registries and the API server want them."""
    assert [name for name in good if not re.fullmatch(pattern, name)] == []
    assert [name for name in bad if re.fullmatch(pattern, name)] == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (LOCAL, None),
        (NFS, None),
        (EFS, None),
        (CLAIM, None),
        ({}, "exactly one of"),
        (LOCAL | NFS, "exactly one of"),
        ({"localStorage": {"path": "/a"}}, "localStorage.nodeName"),
        ({"localStorage": {"path": "/a", "nodeName": "Node 1!"}}, "localStorage.nodeName"),
        ({"localStorage": {"path": "/a", "nodeName": "n" * 64}}, "localStorage.nodeName"),
        ({"localStorage": {"path": "/a", "nodeName": "n" * 63}}, None),
        ({"localStorage": {"path": "a", "nodeName": "n"}}, "path"),
        ({"localStorage": {"path": "/a/../b", "nodeName": "n"}}, "path"),
        ({"localStorage": {"path": "/a", "nodeName": "n", "mountPath": "m"}}, "mountPath"),
        ({"claim": {"claimName": "c", "subPath": "/a"}}, "claim.subPath"),
        ({"claim": {"claimName": "c", "subPath": "a/.."}}, "claim.subPath"),
        ({"claim": {"claimName": "c", "mountPath": "/a:b"}}, "mountPath"),
    ],
)
def test_a_storage_that_no_rule_has_seen(body: dict[str, Any], words: str | None) -> None:
    """The field is named."""
    found = model_storage.validate(storage(body))
    assert (found is None) == (words is None)
    assert found is None or words is None or words in found


def test_a_wish_without_what_is_needed() -> None:
    """One thing after the other."""
    assert validate(ModelOutput()) == "modelName: the name of the Model: lower-case letters, digits, '-' and '.'"
    assert (validate(ModelOutput(model_name="m", image_repo="hub/m")) or "").startswith("storage")
    assert validate(ModelOutput(model_name="m", image_repo="hub/m", storage=storage(NFS))) is None


@pytest.mark.parametrize(
    ("body", "volume"),
    [
        (LOCAL, {"hostPath": {"path": "/models/resnet.onnx", "type": "DirectoryOrCreate"}}),
        (NFS, {"nfs": {"server": "nas", "path": "/exports/m"}}),
        (CLAIM, {"persistentVolumeClaim": {"claimName": "models"}}),
        (EFS, {"persistentVolumeClaim": {"claimName": "mv-pvc-uid-1"}}),
    ],
)
def test_whoever_writes_the_model_mounts_it_writable(body: dict[str, Any], volume: dict[str, Any]) -> None:
    """At the path that the user chose, or where the first KubeDL had it."""
    found = storage(body)
    assert model_volumes.volume(found, OWNER) == {"name": "modelvolume", **volume}
    assert "readOnly" not in model_volumes.mount(found, "/kubedl-model")
    assert model_storage.mount_path(found) == "/kubedl-model"


def test_a_volume_and_a_claim_know_only_each_other() -> None:
    """Nobody else can take either, and the data outlives both."""
    efs = storage(EFS).efs
    assert efs is not None
    claim, volume = render_claim(OWNER), render_volume(efs, OWNER, "claim-uid")
    assert claim["spec"]["volumeName"] == volume["metadata"]["name"] == "mv-pv-team-uid-1"
    assert claim["spec"]["storageClassName"] == ""
    reference = volume["spec"]["claimRef"]
    assert (reference["namespace"], reference["name"], reference["uid"]) == ("team", "mv-pvc-uid-1", "claim-uid")
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert volume["spec"]["csi"] == {
        "driver": "efs.csi.aws.com",
        "volumeHandle": "fs-1:/m",
        "volumeAttributes": {"encryptInTransit": "true"},
    }


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (LOCAL, "resnet.onnx"),
        ({"localStorage": {"path": "/a/b/", "nodeName": "n"}}, "b"),
        ({"localStorage": {"path": "/models/.", "nodeName": "n"}}, "models"),
        ({"localStorage": {"path": "//", "nodeName": "n"}}, "model"),
        ({"claim": {"claimName": "c", "subPath": "runs/./"}}, "runs"),
        ({"claim": {"claimName": "c", "subPath": "./"}}, "model"),
        ({"claim": {"claimName": "c", "subPath": "."}}, "model"),
        ({"localStorage": {"path": "/a:b", "nodeName": "n"}}, "model"),
        ({"localStorage": {"path": "/", "nodeName": "n"}}, "model"),
        (NFS, "model"),
        ({"claim": {"claimName": "c"}}, "model"),
    ],
)
def test_a_single_file_keeps_its_name(body: dict[str, Any], name: str) -> None:
    """Unless nothing can be mounted under it."""
    assert model_volumes.base_name(storage(body)) == name
