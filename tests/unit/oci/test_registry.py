"""Answers of a registry, and what is made of them."""

import json

import pytest

from kubedl.oci.errors import EndedError, ImageError
from kubedl.oci.manifests import MANIFEST, Document
from kubedl.oci.reference import parse_reference
from kubedl.oci.registry import Registry, error_message
from kubedl.oci.transport import Response
from tests.unit.oci.conftest import Connect
from tests.unit.oci.fake_registry import FakeRegistry, Fault


def denied(code: str = "DENIED", message: str = "no\nway") -> bytes:
    return json.dumps({"errors": [{"code": code, "message": message}]}).encode()


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_may_pass_is_asked_again(fake: FakeRegistry, connect: Connect, status: int) -> None:
    fake.faults = [Fault("HEAD", status), Fault("HEAD", status, headers={"Retry-After": "3"})]
    assert not connect().has_blob("sha256:a")
    assert len(fake.seen) == 3


def test_an_error_is_reported_before_the_next_try(fake: FakeRegistry, connect: Connect) -> None:
    reported: list[ImageError] = []
    registry = connect()
    registry.report = reported.append
    fake.faults = [Fault("HEAD", 503), Fault("HEAD")]
    assert not registry.has_blob("sha256:a")
    assert [error.reason for error in reported] == ["RegistryFailed", "RegistryUnreachable"]


def test_a_connection_that_ends_is_made_again(fake: FakeRegistry, connect: Connect) -> None:
    fake.faults = [Fault("HEAD"), Fault("HEAD")]
    assert not connect().has_blob("sha256:a")


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (400, "RegistryRefused"),
        (405, "RegistryRefused"),
        (413, "RegistryRefused"),
        (501, "RegistryRefused"),
    ],
)
def test_what_will_not_pass_is_not(fake: FakeRegistry, connect: Connect, status: int, reason: str) -> None:
    fake.faults = [Fault("POST", status, body=denied())]
    with pytest.raises(ImageError) as caught:
        connect().call("POST", "blobs/uploads/", {202}, content=b"")
    assert (caught.value.reason, caught.value.permanent, len(fake.seen)) == (reason, True, 1)
    assert r"DENIED 'no\nway'" in caught.value.message


@pytest.mark.parametrize(("status", "reason"), [(403, "Forbidden"), (404, "RepositoryMissing")])
def test_what_a_person_can_put_right_is_left_to_a_later_packer(
    fake: FakeRegistry, connect: Connect, status: int, reason: str
) -> None:
    fake.faults = [Fault("POST", status, body=denied())]
    with pytest.raises(ImageError) as caught:
        connect().call("POST", "blobs/uploads/", {202}, content=b"")
    assert (caught.value.reason, caught.value.permanent, len(fake.seen)) == (reason, False, 1)
    assert r"DENIED 'no\nway'" in caught.value.message


@pytest.mark.parametrize(
    ("content", "media_type", "words"),
    [
        (
            b"Your Authorization Token\nhas expired.",
            "text/plain; charset=utf-8",
            r"'Your Authorization Token\nhas expired.'",
        ),
        (b"<html>no</html>", "text/html", ""),
        (b"x" * 5000, "text/plain", "x" * 200),
        (b'{"errors": [{"code": "X", "message": "m", "detail": "d"}]}', "application/json", "X 'm' 'd'"),
        (b'{"errors": [{"code": "X", "message": "m", "detail": {"message": "d"}}]}', "application/json", "X 'm' 'd'"),
        (b'{"errors": [{"code": "X", "message": "m", "detail": {"a": 1}}]}', "application/json", "X 'm'"),
    ],
)
def test_the_registrys_own_words(content: bytes, media_type: str, words: str) -> None:
    found = error_message(Response(403, {"content-type": media_type}, content))
    assert found.strip("'") == words.strip("'")


def test_a_registry_that_stays_ill_is_given_up_with_its_words(fake: FakeRegistry, connect: Connect) -> None:
    fake.faults = [Fault("GET", 503, body=denied("UNAVAILABLE", "down")) for _ in range(200)]
    with pytest.raises(ImageError) as caught:
        connect().manifest("v1")
    assert (caught.value.reason, caught.value.permanent) == ("RegistryFailed", False)
    assert "UNAVAILABLE 'down'" in caught.value.message


def test_nobody_there_is_said_with_the_name() -> None:
    moment = [0.0]

    def pause(seconds: float) -> None:
        moment[0] += seconds

    registry = Registry(parse_reference("127.0.0.1:1/a", "v1"), insecure=True, clock=lambda: moment[0], pause=pause)
    with pytest.raises(ImageError, match=r"127\.0\.0\.1:1 cannot be reached") as caught:
        registry.has_blob("sha256:a")
    assert (caught.value.reason, caught.value.permanent) == ("RegistryUnreachable", False)


def test_nobody_waits_after_another_thread_has_failed(fake: FakeRegistry) -> None:
    fake.faults = [Fault("HEAD", 500)]
    with Registry(parse_reference(f"{fake.address}/a", "v1"), insecure=True) as registry:
        registry.ended.set()
        with pytest.raises(EndedError):
            registry.has_blob("sha256:a")


def test_a_registry_that_is_not_said_to_be_insecure_must_speak_tls(fake: FakeRegistry) -> None:
    moment = [0.0]

    def pause(seconds: float) -> None:
        moment[0] += seconds

    registry = Registry(parse_reference(f"{fake.address}/a", "v1"), clock=lambda: moment[0], pause=pause)
    with pytest.raises(ImageError):
        registry.has_blob("sha256:a")
    assert fake.seen == []


def test_a_manifest_counts_when_the_registry_has_it(fake: FakeRegistry, connect: Connect) -> None:
    document = Document(MANIFEST, b'{"a": 1}')
    connect().put_manifest(document, "v1")
    assert fake.manifests == {"v1": document.content, document.digest: document.content}


def test_a_manifest_that_is_another_one_afterwards_is_an_error(fake: FakeRegistry, connect: Connect) -> None:
    fake.faults = [Fault("PUT", 201)]
    fake.tag("v1", b"{}")
    with pytest.raises(ImageError, match="but now has sha256:") as caught:
        connect().put_manifest(Document(MANIFEST, b'{"a": 1}'), "v1")
    assert not caught.value.permanent


def test_a_registry_that_does_not_tell_digests_is_asked_for_the_manifest(fake: FakeRegistry, connect: Connect) -> None:
    document = Document(MANIFEST, b'{"a": 1}')
    fake.tag("v1", document.content)
    fake.faults = [Fault("HEAD", 200)]
    assert connect().manifest_digest("v1") == document.digest


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/v2/x?a=b", "http://{host}/v2/x?a=b"),
        ("https://{host}/v2/x#frag", "http://{host}/v2/x"),  # it does not know what stands before it
        ("x", "http://{host}/v2/team/model/x"),
    ],
)
def test_places_at_the_registry(fake: FakeRegistry, connect: Connect, location: str, expected: str) -> None:
    found = connect().located(location.format(host=fake.address))
    assert found == expected.format(host=fake.address)


def test_places_elsewhere_are_reached_over_tls_or_not_at_all() -> None:
    registry = Registry(parse_reference("r.example.com/a", "v1"))
    assert registry.located("https://cdn.example.com/x") == "https://cdn.example.com/x"
    assert registry.located("http://r.example.com/x") == "https://r.example.com/x"
    with pytest.raises(ImageError, match="without TLS"):
        registry.located("http://cdn.example.com/x")
