"""The documents of an image, and the published rules for them."""

import json
from typing import Any

import pytest

from kubedl.models.pack_protocol import Origin, PackRequest
from kubedl.models.packer.model_files import FileEntry
from kubedl.models.packer.model_manifests import (
    MODEL_MANIFEST,
    Blob,
    annotations_of,
    image_config,
    image_manifest,
    model_config,
    model_manifest,
    public_url,
)
from kubedl.oci.manifests import MANIFEST, Descriptor, Document, referrer_manifest
from tests.unit.models.packer import model_spec

ORIGIN = Origin(
    created_by="user1",
    job_kind="TFJob",
    job_name="mnist",
    job_uid="4e2a",
    code_repository="https://me:hunter2@git.example.com/team/code.git",
    code_revision="0f3c",
    parent="r.example.com/base@sha256:00",
)
ORDER = PackRequest("/model", "r.example.com/team/model", "v1", "ns", "resnet", "mv-1", origin=ORIGIN)


def blob(number: int, *paths: str) -> Blob:
    return Blob(f"sha256:{number:064}", 1024 * number, tuple(FileEntry(path, "file") for path in paths))


BLOBS = [
    blob(1),
    blob(2, "model.safetensors"),
    blob(3, "config.json", "tokenizer.json"),
    blob(4, "README.md"),
    blob(5, "run.py"),
    blob(6, "a.bin", "b.json"),
    blob(7, "a.json", "b.py"),
]


def documents(order: PackRequest = ORDER) -> tuple[dict[str, Any], ...]:
    config, model = image_config(BLOBS), model_config(order, BLOBS)
    image = image_manifest(order, config, BLOBS)
    pointer = model_manifest(order, model, BLOBS, image)
    return tuple(json.loads(document.content) for document in (config, image, model, pointer))


def test_the_image_is_the_layers_in_order() -> None:
    config, image, _, _ = documents()
    digests = [blob.digest for blob in BLOBS]
    assert config["rootfs"] == {"type": "layers", "diff_ids": digests}
    assert [layer["digest"] for layer in image["layers"]] == digests
    assert {layer["mediaType"] for layer in image["layers"]} == {"application/vnd.oci.image.layer.v1.tar"}
    assert image["config"]["digest"] == image_config(BLOBS).digest
    assert (image["schemaVersion"], image["mediaType"]) == (2, MANIFEST)
    assert "artifactType" not in image


def test_the_model_is_the_same_layers_but_the_first() -> None:
    _, _, config, pointer = documents()
    assert pointer["artifactType"] == MODEL_MANIFEST
    assert [layer["digest"] for layer in pointer["layers"]] == [blob.digest for blob in BLOBS[1:]]
    assert config["modelfs"]["diffIds"] == [blob.digest for blob in BLOBS[1:]]
    purposes = [layer["mediaType"].removeprefix("application/vnd.cncf.model.") for layer in pointer["layers"]]
    assert purposes == [
        "weight.v1.tar",
        "weight.config.v1.tar",
        "doc.v1.tar",
        "code.v1.tar",
        "weight.v1.tar",
        "weight.config.v1.tar",
    ]
    assert pointer["layers"][0]["annotations"]["org.cncf.model.filepath"] == "models/model.safetensors"


def test_the_model_refers_to_the_image() -> None:
    image = image_manifest(ORDER, image_config(BLOBS), BLOBS)
    subject = documents()[3]["subject"]
    assert subject == {"mediaType": MANIFEST, "digest": image.digest, "size": len(image.content)}


def test_the_configuration_keeps_the_published_schema() -> None:
    schema = model_spec.config_schema()
    assert list(model_spec.complaints(documents()[2], schema, schema)) == []
    bare = documents(PackRequest("/model", "r.example.com/a", "v1", "ns", "resnet", "mv"))[2]
    assert list(model_spec.complaints(bare, schema, schema)) == []


@pytest.mark.parametrize(
    "spoil",
    [{"modelfs": {"type": "layers", "diffIds": []}}, {"descriptor": {"createdOn": "x"}}, {"more": 1}, {"config": "x"}],
)
def test_the_check_of_the_schema_can_fail(spoil: dict[str, Any]) -> None:
    schema = model_spec.config_schema()
    assert list(model_spec.complaints(documents()[2] | spoil, schema, schema)) != []


def test_the_media_types_are_published_ones() -> None:
    _, _, _, pointer = documents()
    used = {pointer["artifactType"], pointer["config"]["mediaType"], *(part["mediaType"] for part in pointer["layers"])}
    assert used - model_spec.media_types() == set()


def test_annotations_say_where_it_comes_from_and_no_password() -> None:
    assert annotations_of(ORDER) == {
        "kubedl.io/created-by": "user1",
        "kubedl.io/job-kind": "TFJob",
        "kubedl.io/job-name": "mnist",
        "kubedl.io/job-uid": "4e2a",
        "kubedl.io/model-version": "mv-1",
        "kubedl.io/namespace": "ns",
        "kubedl.io/parent": "r.example.com/base@sha256:00",
        "org.opencontainers.image.revision": "0f3c",
        "org.opencontainers.image.source": "https://git.example.com/team/code.git",
        "org.opencontainers.image.title": "resnet",
        "org.opencontainers.image.version": "v1",
    }
    assert "hunter2" not in json.dumps(documents())


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("", ""),
        ("git@example.com:team/code.git", "git@example.com:team/code.git"),
        ("ssh://git@example.com/code", "ssh://git@example.com/code"),
        ("ssh://git:hunter2@example.com/code", "ssh://git@example.com/code"),
        ("https://x:y@example.com:8443/a?token=b", "https://example.com:8443/a"),
    ],
)
def test_addresses_without_passwords(address: str, public: str) -> None:
    assert public_url(address) == public


def test_what_says_something_about_an_image_is_one_blob() -> None:
    image = image_manifest(ORDER, image_config(BLOBS), BLOBS)
    about = referrer_manifest(image, "application/x", Descriptor("application/y", "sha256:1", 3), {"b": "2", "a": "1"})
    found = json.loads(about.content)
    assert found["subject"]["digest"] == image.digest
    assert found["config"]["mediaType"] == "application/vnd.oci.empty.v1+json"
    assert list(found["annotations"]) == ["a", "b"]
    assert about.descriptor.artifact_type == "application/x"


def test_a_digest_is_that_of_the_bytes() -> None:
    assert Document("x", b"{}").digest == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
