"""Packing and pushing to registries that behave as products do, over HTTP and with a clock that a test moves.

The image is there in the end, under its tag, and no blob was sent twice, whatever the registry's quirks are.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import msgspec
import pytest

from harness.fakes.registry_personalities import (
    ALL,
    DISTRIBUTION,
    ECR,
    FIVE,
    GITLAB,
    IMMUTABLE,
    OCI_1_0,
    PULP,
    QUAY,
    Personality,
)
from kubedl.models.pack_protocol import PackRequest
from kubedl.models.packer import pack as packing
from kubedl.models.packer.attestations import attaching
from kubedl.models.packer.pack import pack
from kubedl.oci import blob_upload
from kubedl.oci.credentials import RegistryCredentials
from kubedl.oci.errors import ImageError
from kubedl.oci.reference import parse_reference
from kubedl.oci.referrers import fallback_tag
from kubedl.oci.registry import Registry
from tests.unit.models.packer.signers import write_key
from tests.unit.oci.conftest import Clock
from tests.unit.oci.fake_registry import FakeRegistry, Seen, serving

ME = RegistryCredentials("me", "secret")
PART = 4 << 20  # the largest file of the model takes three
Start = Callable[[Personality], FakeRegistry]


@pytest.fixture
def start(clock: Clock) -> Iterator[Start]:
    """Registries that are told the time by the test."""
    opened = []

    def started(personality: Personality) -> FakeRegistry:
        registry = FakeRegistry(personality, lambda: clock.now)
        context = serving(registry)
        context.__enter__()
        opened.append(context)
        return registry

    yield started
    for context in opened:
        context.__exit__(None, None, None)


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large blobs are sent in parts, one after another: the minutes that one takes pass for no other."""
    monkeypatch.setattr(blob_upload, "MOST_AT_ONCE", PART)
    monkeypatch.setattr(packing, "SENDING", 1)


def connect(registry: FakeRegistry, clock: Clock, login: RegistryCredentials = ME) -> Registry:
    address = parse_reference(f"{registry.address}/team/model", "v1")
    return Registry(address, login, insecure=True, clock=lambda: clock.now, pause=clock.pass_by)


def sent(registry: FakeRegistry) -> dict[str, int]:
    """How often each blob was sent to its end."""
    return Counter(registry.committed)


def parts_taken(registry: FakeRegistry) -> list[Seen]:
    return [request for request in registry.seen if request.method == "PATCH"]


@pytest.mark.parametrize("personality", ALL, ids=lambda one: one.name.partition(" ")[0])
def test_an_image_is_packed_and_no_blob_sent_twice(
    personality: Personality,
    start: Start,
    clock: Clock,
    order: PackRequest,
    record_property: Callable[[str, object], None],
) -> None:
    """Every part of a blob takes longer than a token of five minutes is good for."""
    registry = start(personality)
    registry.after_patch = lambda: clock.pass_by(301)
    with connect(registry, clock) as client:
        answer = pack(order, client, attaching(order))
    image = json.loads(registry.manifests["v1"])
    assert {layer["digest"] for layer in image["layers"]} <= registry.blobs.keys()
    assert set(sent(registry).values()) == {1}
    assert sum(request.size for request in parts_taken(registry)) == sum(map(len, registry.blobs.values()))
    assert answer.layers_uploaded == len(image["layers"])
    record_property("images", 1)
    record_property("of the five", int(personality in FIVE))
    record_property("blobs sent twice", sum(often - 1 for often in sent(registry).values()))


@pytest.mark.parametrize("personality", ALL, ids=lambda one: one.name.partition(" ")[0])
def test_packed_again_nothing_is_sent(personality: Personality, start: Start, clock: Clock, order: PackRequest) -> None:
    """Also to a registry that writes no tag twice, or refused what refers to the image."""
    registry = start(personality)
    with connect(registry, clock) as client:
        first = pack(order, client, attaching(order))
    before, registry.committed = dict(registry.manifests), []
    with connect(registry, clock) as client:
        again = pack(order, client, attaching(order))
    assert (again.digest, again.artifact_digest, again.not_attached) == (
        first.digest,
        first.artifact_digest,
        first.not_attached,
    )
    assert (registry.manifests, registry.committed) == (before, [])


@pytest.mark.parametrize("personality", [QUAY, GITLAB])
def test_a_registry_that_refuses_extras_gets_the_image(
    personality: Personality, start: Start, clock: Clock, order: PackRequest
) -> None:
    """The answer has its words, and names no artifact that is not there."""
    registry = start(personality)
    with connect(registry, clock) as client:
        answer = pack(order, client, attaching(order))
    assert "v1" in registry.manifests
    assert answer.artifact_digest == ""
    assert "unknown media type: application/vnd.cncf.model.config.v1+json" in answer.not_attached
    assert "unknown media type: application/vnd.oci.empty.v1+json" in answer.not_attached


def test_a_registry_that_writes_no_tag_twice_gets_all_extras(start: Start, clock: Clock, order: PackRequest) -> None:
    registry = start(IMMUTABLE)
    with connect(registry, clock) as client:
        answer = pack(order, client, attaching(order))
    assert answer.not_attached == ""
    index = json.loads(registry.manifests[fallback_tag(answer.digest)])
    assert len(index["manifests"]) == 3


@pytest.mark.parametrize("personality", [QUAY, IMMUTABLE, ECR])
def test_a_signature_that_was_asked_for_is_there(
    personality: Personality, start: Start, clock: Clock, order: PackRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Also where extras are refused: cosign's signatures have an image's configuration."""
    signed = msgspec.structs.replace(order, signing_key=write_key(tmp_path_factory.mktemp("key") / "key"))
    registry = start(personality)
    with connect(registry, clock) as client:
        answer = pack(signed, client, attaching(signed))
    assert answer.signed
    assert {f"{fallback_tag(answer.digest)}{ending}" for ending in (".sig", ".att")} <= registry.manifests.keys()


def test_without_the_signature_that_was_asked_for_there_is_no_tag(
    start: Start, clock: Clock, order: PackRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    signed = msgspec.structs.replace(order, signing_key=write_key(tmp_path_factory.mktemp("key") / "key"))
    registry = start(replace(DISTRIBUTION, config_types=frozenset({"other"})))
    refusing, had = frozenset({"other"}), registry.personality
    registry.personality = replace(had, config_types=frozenset())
    attach = attaching(signed)

    def attached(*arguments: object) -> object:
        registry.personality = replace(had, config_types=refusing)
        return attach(*arguments)  # type: ignore[arg-type]

    with connect(registry, clock) as client, pytest.raises(ImageError) as caught:
        pack(signed, client, attached)  # type: ignore[arg-type]
    assert caught.value.reason == "RegistryRefused"
    assert "v1" not in registry.manifests


@pytest.mark.parametrize("personality", [ECR, PULP], ids=lambda one: one.name)
def test_other_answers_to_a_part_than_202_are_taken(
    personality: Personality, start: Start, clock: Clock, order: PackRequest
) -> None:
    registry = start(personality)
    with connect(registry, clock) as client:
        pack(order, client)
    assert "v1" in registry.manifests


def test_a_range_that_stands_still_is_not_believed(start: Start, clock: Clock, order: PackRequest) -> None:
    """Parts go on from where the last one ended, and the digest decides."""
    registry = start(replace(DISTRIBUTION, range_stands_still=True))
    with connect(registry, clock) as client:
        pack(order, client)
    assert len(parts_taken(registry)) > len(registry.blobs)
    assert clock.now == 0  # nothing was waited for


def test_a_password_that_has_expired_is_no_end(start: Start, clock: Clock, order: PackRequest) -> None:
    """ECR says 403 then. With a new one the next packer goes on, and sends what is missing."""
    registry = start(ECR)
    registry.after_patch = lambda: clock.pass_by(13 * 3600 if len(parts_taken(registry)) == 3 else 0)
    with connect(registry, clock) as client, pytest.raises(ImageError) as caught:
        pack(order, client)
    assert (caught.value.reason, caught.value.permanent) == ("Forbidden", False)
    assert "Your Authorization Token has expired" in caught.value.message
    assert "secret" not in caught.value.message
    had = dict(registry.blobs)
    with connect(registry, clock, RegistryCredentials("me", "renewed")) as client:
        pack(order, client)
    assert "v1" in registry.manifests
    assert set(sent(registry).values()) == {1}
    assert had.keys() <= registry.blobs.keys()


def test_the_end_of_an_upload_is_repeated_with_a_new_token(start: Start, clock: Clock, order: PackRequest) -> None:
    """A registry that does not tell how far an upload is would get the whole blob again, and too late again."""
    registry = start(OCI_1_0)
    registry.after_patch = lambda: clock.pass_by(301)
    with connect(registry, clock) as client:
        pack(order, client)
    assert set(sent(registry).values()) == {1}
    assert registry.paths("POST").count("/v2/team/model/blobs/uploads/") == len(registry.blobs)  # each begun once


@pytest.mark.parametrize("personality", ALL, ids=lambda one: one.name.partition(" ")[0])
def test_every_quirk_says_where_it_was_reported(personality: Personality) -> None:
    assert personality.quirks - {"login_seconds"} <= personality.sources.keys()
    assert personality.sources.keys() <= personality.quirks
