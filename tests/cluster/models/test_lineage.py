"""From an image back to the job that it comes from, before a real registry, by its own lists and by real programs."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from harness.drivers.environment import FULL
from harness.drivers.packer_process import packed, write_model
from harness.drivers.registry import RealRegistry, real_registry
from harness.drivers.registry_fault_proxy import registry_proxy
from kubedl.models.pack_protocol import Origin, PackRequest, PackResult
from testbed import tools
from testbed.shell import attempt, run
from tests.unit.models.packer.signers import openssl_verifies, write_key

ORIGIN = Origin(
    created_by="train",
    job_kind="TFJob",
    job_name="train",
    job_uid="4e2a",
    trainer_images={"tf:2": f"r.example.com/tf@sha256:{'2' * 64}"},
    code_repository="https://me:hidden@git.example.com/team/code.git",
    code_revision="c" * 40,
    parent=f"r.example.com/base@sha256:{'3' * 64}",
)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRegistry]:
    """One for all tests of this file; each uses a repository of its own."""
    with real_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture
def order(registry: RealRegistry, tmp_path: Path, request: pytest.FixtureRequest) -> PackRequest:
    """With a key."""
    write_model(tmp_path / "model", 2, 1 << 20)
    key = write_key(tmp_path / "key", "pass word")
    name = request.node.name.replace("_", "-")
    place = f"{registry.address}/{name}"
    return PackRequest(
        str(tmp_path / "model"), place, "v1", "ns", "resnet", "mv-1", insecure=True, signing_key=key, origin=ORIGIN
    )


def image_of(order: PackRequest, directory: Path) -> PackResult:
    code, answer = packed(order, directory)
    assert code == 0, answer
    assert answer is not None
    return answer


def name_of(order: PackRequest) -> str:
    return order.repository.partition("/")[2]


def said(registry: RealRegistry, repository: str, digest: str) -> dict[str, bytes]:
    """What is listed beside an image, by artifact type."""
    index = registry.manifest(repository, digest.replace(":", "-"))
    assert index is not None
    found: dict[str, bytes] = {}
    for entry in index["manifests"]:
        manifest = registry.manifest(repository, entry["digest"])
        assert manifest is not None
        assert manifest["subject"]["digest"] == digest
        found[entry["artifactType"]] = registry.blob(repository, manifest["layers"][0]["digest"])
    return found


def test_an_image_leads_back_to_its_job(registry: RealRegistry, order: PackRequest, tmp_path: Path) -> None:
    """Through the tag that this registry, which keeps no list of referrers, has instead."""
    answer = image_of(msgspec.structs.replace(order, signing_key=""), tmp_path)
    found = said(registry, name_of(order), answer.digest)
    statement: dict[str, Any] = json.loads(found["application/vnd.in-toto+json"])
    assert statement["subject"][0]["digest"]["sha256"] == answer.digest.removeprefix("sha256:")
    definition = statement["predicate"]["buildDefinition"]
    assert definition["externalParameters"]["job"] == {"kind": "TFJob", "name": "train", "uid": "4e2a"}
    names = [one["name"] for one in definition["resolvedDependencies"]]
    assert names == ["trainer-image", "code", "parent-model"]
    bill = found["application/vnd.cyclonedx+json"]
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(bill.decode()) is None
    layers = (registry.manifest(name_of(order), answer.digest) or {})["layers"][1:]
    hashes = [f"sha256:{one['hashes'][0]['content']}" for one in json.loads(bill)["components"]]
    assert hashes == [layer["digest"] for layer in layers]
    assert all(b"hidden" not in content for content in found.values())


def test_openssl_confirms_the_signature(registry: RealRegistry, order: PackRequest, tmp_path: Path) -> None:
    answer = image_of(order, tmp_path)
    assert answer.signed
    manifest = registry.manifest(name_of(order), f"{answer.digest.replace(':', '-')}.sig")
    assert manifest is not None
    [layer] = manifest["layers"]
    payload = registry.blob(name_of(order), layer["digest"])
    assert json.loads(payload)["critical"]["image"]["docker-manifest-digest"] == answer.digest
    signature = base64.b64decode(layer["annotations"]["dev.cosignproject.cosign/signature"])
    assert openssl_verifies(Path(order.signing_key) / "cosign.pub", payload, signature, tmp_path)


def test_signed_again_nothing_is_sent(registry: RealRegistry, order: PackRequest, tmp_path: Path) -> None:
    with registry_proxy(registry.address) as proxy:
        order = msgspec.structs.replace(order, repository=f"{proxy.address}/{name_of(order)}")
        image_of(order, tmp_path)
        proxy.clear()
        assert image_of(order, tmp_path).signed
        assert {request.method for request in proxy.passed} == {"HEAD", "GET"}


def test_a_key_that_cannot_be_used_costs_no_upload(registry: RealRegistry, order: PackRequest, tmp_path: Path) -> None:
    (tmp_path / "key" / "cosign.password").write_text("wrong")
    code, answer = packed(order, tmp_path)
    assert answer is not None
    assert (code, answer.reason) == (2, "BadSigningKey")
    assert registry.digest(name_of(order), "v1") is None
    assert "wrong" not in (tmp_path / "packer.log").read_text()


@pytest.mark.skipif(not FULL, reason="building cosign takes minutes: `make prove-models` does")
def test_cosign_confirms_signature_and_statement(order: PackRequest, tmp_path: Path) -> None:
    """A key that cosign itself has made, and its own word about image and provenance; of another key it is no."""
    cosign = str(tools.binary("cosign"))
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
        run("env", "-C", str(tmp_path / name), "COSIGN_PASSWORD=secret", cosign, "generate-key-pair")
    (tmp_path / "own" / "cosign.password").write_text("secret")
    order = msgspec.structs.replace(order, signing_key=str(tmp_path / "own"))
    image = f"{order.repository}@{image_of(order, tmp_path).digest}"
    common = ("--insecure-ignore-tlog", "--allow-http-registry", "--allow-insecure-registry")
    own = ("--key", str(tmp_path / "own" / "cosign.pub"), *common, image)
    assert "cosign container image signature" in run(cosign, "verify", *own)
    assert "payload" in run(cosign, "verify-attestation", "--type", "slsaprovenance1", *own)
    other = ("--key", str(tmp_path / "other" / "cosign.pub"), *common, image)
    assert attempt(cosign, "verify", *other).returncode != 0
