"""What is said about an image, where it is found, and that openssl confirms what is signed."""

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubedl.models.pack_protocol import Origin, PackRequest
from kubedl.models.packer.attestations import attaching, attachments
from kubedl.models.packer.cosign import SIGNATURE, push_signature, simple_signing
from kubedl.models.packer.pack import pack
from kubedl.models.packer.provenance import statement
from kubedl.models.packer.signing_key import read_key
from kubedl.oci.errors import ImageError
from kubedl.oci.manifests import MANIFEST, Document
from kubedl.oci.referrers import fallback_tag
from tests.unit.models.packer.signers import openssl_verifies, write_key
from tests.unit.oci.conftest import Connect
from tests.unit.oci.fake_registry import FakeRegistry

STATEMENT, BOM = "application/vnd.in-toto+json", "application/vnd.cyclonedx+json"


@pytest.fixture
def signed(order: PackRequest, tmp_path: Path) -> PackRequest:
    return msgspec.structs.replace(order, signing_key=write_key(tmp_path / "key"))


def said(fake: FakeRegistry, digest: str) -> dict[str, bytes]:
    """What the list of referrers leads to, by artifact type."""
    found: dict[str, bytes] = {}
    for entry in json.loads(fake.manifests[fallback_tag(digest)])["manifests"]:
        [layer, *_] = json.loads(fake.manifests[entry["digest"]])["layers"]
        found[entry["artifactType"]] = fake.blobs[layer["digest"]]
    return found


def test_an_image_leads_to_its_statement_and_its_bill(fake: FakeRegistry, connect: Connect, order: PackRequest) -> None:
    answer = pack(order, connect(), attaching(order))
    assert not answer.signed
    found = said(fake, answer.digest)
    assert found[STATEMENT] == statement(order, answer.digest)
    assert json.loads(found[BOM])["metadata"]["component"]["name"] == "resnet"
    assert not [name for name in fake.manifests if name.endswith((".sig", ".att"))]


def test_all_is_said_before_the_tag(fake: FakeRegistry, connect: Connect, signed: PackRequest) -> None:
    pack(signed, connect(), attaching(signed))
    tags = [path.rpartition("/")[2] for path in fake.paths("PUT") if "/manifests/" in path]
    assert tags[-1] == "v1"
    assert {tag.rpartition(".")[2] for tag in tags if "." in tag} == {"sig", "att"}


def test_a_signature_is_where_cosign_looks_and_openssl_confirms_it(
    fake: FakeRegistry, connect: Connect, signed: PackRequest, tmp_path: Path
) -> None:
    answer = pack(signed, connect(), attaching(signed))
    assert answer.signed
    manifest = json.loads(fake.manifests[f"{fallback_tag(answer.digest)}.sig"])
    [layer] = manifest["layers"]
    payload = fake.blobs[layer["digest"]]
    critical = json.loads(payload)["critical"]
    assert critical["image"]["docker-manifest-digest"] == answer.digest
    assert critical["identity"]["docker-reference"] == signed.repository
    config = json.loads(fake.blobs[manifest["config"]["digest"]])
    assert config["rootfs"]["diff_ids"] == [layer["digest"]]
    public = Path(signed.signing_key) / "cosign.pub"
    signature = base64.b64decode(layer["annotations"][SIGNATURE])
    assert openssl_verifies(public, payload, signature, tmp_path)
    assert not openssl_verifies(public, payload + b" ", signature, tmp_path)


def test_with_a_key_the_statement_is_in_a_signed_envelope(
    fake: FakeRegistry, connect: Connect, signed: PackRequest, tmp_path: Path
) -> None:
    answer = pack(signed, connect(), attaching(signed))
    content = said(fake, answer.digest)[STATEMENT]
    envelope = json.loads(content)
    payload = base64.b64decode(envelope["payload"])
    assert payload == statement(signed, answer.digest)
    whole = b"DSSEv1 28 application/vnd.in-toto+json " + f"{len(payload)} ".encode() + payload
    [signature] = envelope["signatures"]
    public = Path(signed.signing_key) / "cosign.pub"
    assert openssl_verifies(public, whole, base64.b64decode(signature["sig"]), tmp_path)
    [layer] = json.loads(fake.manifests[f"{fallback_tag(answer.digest)}.att"])["layers"]
    assert fake.blobs[layer["digest"]] == content


@pytest.mark.parametrize("knows_subjects", [False, True])
def test_said_again_nothing_is_added(
    fake: FakeRegistry, connect: Connect, signed: PackRequest, *, knows_subjects: bool
) -> None:
    """Also not by a packer that was killed before the tag; where the registry keeps no list, nothing is even sent."""
    fake.knows_subjects = knows_subjects
    pack(signed, connect(), attaching(signed))
    before = dict(fake.manifests), dict(fake.blobs)
    fake.seen.clear()
    assert pack(signed, connect(), attaching(signed)).signed
    if not knows_subjects:
        assert {request.method for request in fake.seen} == {"HEAD", "GET"}
    del fake.manifests["v1"]
    pack(signed, connect(), attaching(signed))
    assert (fake.manifests, fake.blobs) == before


def test_an_image_that_has_its_tag_can_still_be_signed(
    fake: FakeRegistry, connect: Connect, signed: PackRequest
) -> None:
    """It is the same image, signed or not."""
    plain = msgspec.structs.replace(signed, signing_key="")
    first = pack(plain, connect(), attaching(plain))
    again = pack(signed, connect(), attaching(signed))
    assert (again.digest, again.signed) == (first.digest, True)
    assert f"{fallback_tag(first.digest)}.sig" in fake.manifests


def test_signatures_of_others_stay(fake: FakeRegistry, connect: Connect, signed: PackRequest, tmp_path: Path) -> None:
    image = Document(MANIFEST, b"{}")
    for name in ("one", "other", "one"):
        directory = tmp_path / name
        key = read_key(str(directory) if directory.exists() else write_key(directory))
        assert key is not None
        push_signature(connect(), image, "r.example.com/m", key)
    manifest: dict[str, Any] = json.loads(fake.manifests[f"{fallback_tag(image.digest)}.sig"])
    assert len(manifest["layers"]) == 2
    assert len({layer["annotations"][SIGNATURE] for layer in manifest["layers"]}) == 2


def test_a_tag_that_holds_no_signatures_is_left_alone(
    fake: FakeRegistry, connect: Connect, signed: PackRequest
) -> None:
    image, key = Document(MANIFEST, b"{}"), read_key(signed.signing_key)
    tag = f"{fallback_tag(image.digest)}.sig"
    fake.tag(tag, b'{"layers": "x"}')
    assert key is not None
    with pytest.raises(ImageError, match="is not a list of signatures"):
        push_signature(connect(), image, "r.example.com/m", key)
    assert fake.manifests[tag] == b'{"layers": "x"}'


def test_a_bad_key_is_found_before_anything_is_packed(order: PackRequest, tmp_path: Path) -> None:
    with pytest.raises(ImageError) as caught:
        attaching(msgspec.structs.replace(order, signing_key=str(tmp_path)))
    assert (caught.value.reason, caught.value.permanent) == ("BadSigningKey", True)


def test_the_payload_is_cosigns() -> None:
    assert simple_signing("r.example.com/m", "sha256:1") == (
        b'{"critical":{"identity":{"docker-reference":"r.example.com/m"},"image":{"docker-manifest-digest":"sha256:1"},'
        b'"type":"cosign container image signature"},"optional":null}'
    )


def test_attachments_depend_on_nothing_but_the_order(order: PackRequest, signed: PackRequest) -> None:
    key = read_key(signed.signing_key)
    images = {"a": f"a@sha256:{'1' * 64}"}
    order = msgspec.structs.replace(order, origin=Origin(trainer_images=images))
    assert attachments(order, "sha256:1", (), key) == attachments(order, "sha256:1", (), key)
