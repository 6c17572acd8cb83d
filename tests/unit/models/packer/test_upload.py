"""One blob on its way, with everything that may happen to it."""

import hashlib
import os
from collections.abc import Callable

import pytest

from kubedl.models.packer import upload
from kubedl.models.packer.failure import PackingError
from kubedl.models.packer.upload import ensure_blob
from tests.unit.models.packer.conftest import Connect
from tests.unit.models.packer.fake_registry import FakeRegistry, Fault

CONTENT = os.urandom(3 << 20)
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


def pieces(start: int, end: int) -> "list[memoryview]":
    """In small ones."""
    return [memoryview(CONTENT)[at : min(at + 65536, end)] for at in range(start, end, 65536)]


def send(connect: Connect, told: Callable[[int], None] = lambda _: None) -> int:
    return ensure_blob(connect(), DIGEST, len(CONTENT), lambda start, end: iter(pieces(start, end)), told)


def test_a_blob_is_sent_in_one_piece(fake: FakeRegistry, connect: Connect) -> None:
    heard: list[int] = []
    assert send(connect, heard.append) == len(CONTENT)
    assert fake.blobs == {DIGEST: CONTENT}
    assert [request.method for request in fake.seen] == ["HEAD", "POST", "PATCH", "PUT"]
    assert heard == sorted(heard)
    assert heard[-1] == len(CONTENT)


def test_a_blob_that_is_there_is_not_sent(fake: FakeRegistry, connect: Connect) -> None:
    fake.blobs[DIGEST] = CONTENT
    assert send(connect) == 0
    assert [request.method for request in fake.seen] == ["HEAD"]


def test_a_large_blob_is_sent_in_parts(fake: FakeRegistry, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "MOST_AT_ONCE", 1 << 20)
    assert send(connect) == len(CONTENT)
    assert [request.size for request in fake.seen if request.method == "PATCH"] == [1 << 20] * 3
    assert fake.blobs == {DIGEST: CONTENT}


def test_after_a_cut_it_goes_on_from_where_the_registry_says(fake: FakeRegistry, connect: Connect) -> None:
    fake.faults = [Fault("PATCH", after=1 << 20), Fault("PATCH", after=1 << 20)]
    send(connect)
    assert fake.blobs == {DIGEST: CONTENT}
    assert [request.size for request in fake.seen if request.method == "PATCH"] == [1 << 20]
    assert len(fake.paths("POST")) == 1


@pytest.mark.parametrize(
    "faults",
    [
        [Fault("PATCH", after=0)],  # nothing arrived: `0-0` tells nothing, so it begins anew
        [Fault("PATCH", 500)],
        [Fault("PATCH", 429, headers={"Retry-After": "1"})],
        [Fault("PATCH", 401)],
        [Fault("PATCH", 404)],
        [Fault("PATCH", 416)],
        [Fault("PATCH", after=1 << 20), Fault("GET", 404)],  # and the registry has forgotten it
        [Fault("PATCH", after=1 << 20), Fault("GET", 405)],  # or cannot say
        [Fault("PUT", 500), Fault("HEAD", 500)],
        [Fault("PUT"), Fault("PUT")],
        [Fault("POST", 503), Fault("POST")],
    ],
    ids=lambda faults: " ".join(f"{fault.method}-{fault.status or 'cut'}" for fault in faults),
)
def test_whatever_happens_the_registry_has_it_in_the_end(
    fake: FakeRegistry, connect: Connect, faults: list[Fault]
) -> None:
    fake.faults = list(faults)
    send(connect)
    assert fake.blobs == {DIGEST: CONTENT}
    assert fake.faults == []


def test_an_answer_that_was_lost_does_not_send_it_again(fake: FakeRegistry, connect: Connect) -> None:
    """The registry had committed."""
    fake.faults = [Fault("PUT", 502)]
    registry = connect()
    had = fake.answer

    def answer(method: str, url: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        if method == "HEAD" and fake.paths("PUT"):
            fake.blobs[DIGEST] = CONTENT
        return had(method, url, body)

    fake.answer = answer  # type: ignore[method-assign]
    ensure_blob(registry, DIGEST, len(CONTENT), lambda start, end: iter(pieces(start, end)), lambda _: None)
    assert len(fake.paths("PATCH")) == 1


def test_other_bytes_than_were_hashed_are_the_models_fault(connect: Connect) -> None:
    with pytest.raises(PackingError) as caught:
        ensure_blob(connect(), f"sha256:{'0' * 64}", 10, lambda *_: iter([memoryview(b"x" * 10)]), lambda _: None)
    assert (caught.value.reason, caught.value.permanent) == ("SourceChanged", False)


def test_a_wrong_digest_after_a_cut_is_tried_once_more(fake: FakeRegistry, connect: Connect) -> None:
    """What came before the cut may have arrived after it was asked about."""
    invalid = b'{"errors": [{"code": "DIGEST_INVALID"}]}'
    fake.faults = [Fault("PATCH", after=1 << 20), Fault("PUT", 400, body=invalid)]
    send(connect)
    assert fake.blobs == {DIGEST: CONTENT}
    assert len(fake.paths("POST")) == 2


@pytest.mark.parametrize(("status", "reason"), [(403, "Forbidden"), (413, "RegistryRefused")])
def test_a_refusal_ends_it(fake: FakeRegistry, connect: Connect, status: int, reason: str) -> None:
    fake.faults = [Fault("PATCH", status)]
    with pytest.raises(PackingError) as caught:
        send(connect)
    assert caught.value.reason == reason


def test_it_does_not_go_on_for_ever(fake: FakeRegistry, connect: Connect) -> None:
    fake.faults = [Fault("PATCH", 500) for _ in range(500)]
    with pytest.raises(PackingError) as caught:
        send(connect)
    assert caught.value.reason == "RegistryFailed"


def test_a_read_error_of_the_model_is_not_taken_for_the_networks(fake: FakeRegistry, connect: Connect) -> None:
    def broken(_start: int, _end: int) -> "list[memoryview]":
        raise PackingError("SourceUnreadable", "disk")

    with pytest.raises(PackingError) as caught:
        ensure_blob(connect(), DIGEST, 10, lambda start, end: iter(broken(start, end)), lambda _: None)
    assert caught.value.reason == "SourceUnreadable"
    assert fake.paths("PATCH") == []
