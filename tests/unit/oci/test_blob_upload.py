"""One blob on its way, with everything that may happen to it."""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from kubedl.oci import blob_upload
from kubedl.oci.blob_upload import ensure_blob
from kubedl.oci.errors import ImageError
from kubedl.oci.registry import MOST_REFUSALS
from kubedl.oci.retry import GIVE_UP
from kubedl.oci.transport import COMMIT_PATIENCE, Response
from tests.unit.oci.conftest import Clock, Connect
from tests.unit.oci.fake_registry import FakeRegistry, Fault

CONTENT = os.urandom(3 << 20)
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


def pieces(start: int, end: int) -> "list[memoryview]":
    """In small ones."""
    return [memoryview(CONTENT)[at : min(at + 65536, end)] for at in range(start, end, 65536)]


def send(connect: Connect, on_progress: Callable[[int], None] = lambda _: None) -> int:
    return ensure_blob(connect(), DIGEST, len(CONTENT), lambda start, end: iter(pieces(start, end)), on_progress)


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
    monkeypatch.setattr(blob_upload, "MOST_AT_ONCE", 1 << 20)
    assert send(connect) == len(CONTENT)
    assert [request.size for request in fake.seen if request.method == "PATCH"] == [1 << 20] * 3
    assert fake.blobs == {DIGEST: CONTENT}


def test_after_a_cut_it_goes_on_from_where_the_registry_says(fake: FakeRegistry, connect: Connect) -> None:
    fake.faults = [Fault("PATCH", after=1 << 20), Fault("PATCH", after=1 << 20)]
    send(connect)
    assert fake.blobs == {DIGEST: CONTENT}
    assert [request.size for request in fake.seen if request.method == "PATCH"] == [1 << 20]
    assert len(fake.paths("POST")) == 1


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "dropped"])
def test_a_cut_after_a_long_time_is_a_cut_like_any_other(
    fake: FakeRegistry, connect: Connect, clock: Clock, kept: bool
) -> None:
    """Nothing is confirmed while a request runs, and one may run for longer than we are patient."""
    fake.faults = [Fault("PATCH", after=1 << 20), *([] if kept else [Fault("GET", 404)])]
    heard: list[int] = []

    def on_progress(offset: int) -> None:
        if offset > max(heard, default=0):
            clock.pass_by(GIVE_UP)
        heard.append(offset)

    send(connect, on_progress)
    assert fake.blobs == {DIGEST: CONTENT}
    assert len(fake.paths("POST")) == (1 if kept else 2)


def test_what_the_registry_confirms_at_last_counts_too(fake: FakeRegistry, connect: Connect, clock: Clock) -> None:
    """Something before it may take all at once, and pass it on slowly."""
    registry = connect()
    had = registry.once
    cuts = [1, 2]

    def once(method: str, *arguments: object) -> Response:
        reply = had(method, *arguments)  # type: ignore[arg-type]
        if method == "PATCH" and cuts:
            del fake.uploads["u0"][cuts.pop(0) << 20 :]
            clock.pass_by(GIVE_UP + 1)
            return Response(504, {})
        return reply

    registry.once = once  # type: ignore[method-assign,assignment]
    ensure_blob(registry, DIGEST, len(CONTENT), lambda start, end: iter(pieces(start, end)), lambda _: None)
    assert fake.blobs == {DIGEST: CONTENT}
    assert [request.size for request in fake.seen if request.method == "PATCH"] == [3 << 20, 2 << 20, 1 << 20]


def test_a_commit_that_took_too_long_may_have_been_one(connect: Connect, clock: Clock) -> None:
    registry = connect()
    had = registry.once
    commits: list[str] = []

    def once(method: str, target: str, *arguments: object) -> Response:
        reply = had(method, target, *arguments)  # type: ignore[arg-type]
        if method == "PUT":
            commits.append(target)
            clock.pass_by(COMMIT_PATIENCE)
            raise TimeoutError("timed out")
        return reply

    registry.once = once  # type: ignore[method-assign,assignment]
    ensure_blob(registry, DIGEST, len(CONTENT), lambda start, end: iter(pieces(start, end)), lambda _: None)
    assert len(commits) == 1


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
    with pytest.raises(ImageError) as caught:
        ensure_blob(connect(), f"sha256:{'0' * 64}", 10, lambda *_: iter([memoryview(b"x" * 10)]), lambda _: None)
    assert (caught.value.reason, caught.value.permanent) == ("SourceChanged", False)


def test_a_wrong_digest_after_a_cut_is_tried_once_more(fake: FakeRegistry, connect: Connect) -> None:
    """What came before the cut may have arrived after it was asked about."""
    invalid = b'{"errors": [{"code": "DIGEST_INVALID"}]}'
    fake.faults = [Fault("PATCH", after=1 << 20), Fault("PUT", 400, body=invalid)]
    send(connect)
    assert fake.blobs == {DIGEST: CONTENT}
    assert len(fake.paths("POST")) == 2


def test_refusals_count_only_in_a_row(fake: FakeRegistry, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long upload outlives many tokens."""
    monkeypatch.setattr(blob_upload, "MOST_AT_ONCE", 1 << 19)
    registry = connect()
    had, refused = registry.once, set[str]()

    def once(method: str, target: str, headers: Mapping[str, str], *arguments: object) -> Response:
        part = headers.get("Content-Range", "")
        if method == "PATCH" and part not in refused:
            refused.add(part)
            return Response(401, {})
        return had(method, target, headers, *arguments)  # type: ignore[arg-type]

    registry.once = once  # type: ignore[method-assign,assignment]
    ensure_blob(registry, DIGEST, len(CONTENT), lambda start, end: iter(pieces(start, end)), lambda _: None)
    assert fake.blobs == {DIGEST: CONTENT}
    assert len(refused) == 6


def test_a_refusal_that_stays_is_the_answer(fake: FakeRegistry, connect: Connect) -> None:
    fake.faults = [Fault("PATCH", 401) for _ in range(9)]
    with pytest.raises(ImageError) as caught:
        send(connect)
    assert (caught.value.reason, len(fake.paths("PATCH"))) == ("Unauthorized", MOST_REFUSALS)


@pytest.mark.parametrize(("status", "reason"), [(403, "Forbidden"), (413, "RegistryRefused")])
def test_a_refusal_ends_it(fake: FakeRegistry, connect: Connect, status: int, reason: str) -> None:
    fake.faults = [Fault("PATCH", status)]
    with pytest.raises(ImageError) as caught:
        send(connect)
    assert caught.value.reason == reason


def test_it_does_not_go_on_for_ever(fake: FakeRegistry, connect: Connect) -> None:
    fake.faults = [Fault("PATCH", 500) for _ in range(500)]
    with pytest.raises(ImageError) as caught:
        send(connect)
    assert caught.value.reason == "RegistryFailed"


def test_nor_if_each_attempt_takes_long_and_none_goes_farther(
    fake: FakeRegistry, connect: Connect, clock: Clock
) -> None:
    fake.faults = [Fault("PATCH", 504) for _ in range(500)]
    with pytest.raises(ImageError) as caught:
        send(connect, lambda _: clock.pass_by(20))
    assert caught.value.reason == "RegistryFailed"
    assert 1 < len(fake.paths("PATCH")) < 5


@pytest.mark.parametrize("confirmed", ["0-99", "0-1048575"])
def test_nor_if_the_registry_says_well_done_and_keeps_nothing(
    fake: FakeRegistry, connect: Connect, clock: Clock, confirmed: str
) -> None:
    """What it keeps it need not be sent again, but it must keep more each time."""
    fake.faults = [Fault(method, 202, headers={"Range": confirmed}) for _ in range(500) for method in ("PATCH", "GET")]
    with pytest.raises(ImageError) as caught:
        send(connect)
    assert (caught.value.reason, caught.value.permanent) == ("RegistryFailed", False)
    assert clock.now > GIVE_UP
    assert len(fake.paths("PATCH")) < 40


def test_parts_that_the_registry_takes_smaller_than_sent(fake: FakeRegistry, connect: Connect) -> None:
    """It goes on at once: something moves."""
    registry = connect()
    had = fake.answer

    def answer(method: str, url: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        return had(method, url, body[: 1 << 20])

    fake.answer = answer  # type: ignore[method-assign]
    ensure_blob(registry, DIGEST, len(CONTENT), lambda start, end: iter(pieces(start, end)), lambda _: None)
    assert fake.blobs == {DIGEST: CONTENT}
    assert [request.method for request in fake.seen] == ["HEAD", "POST", "PATCH", "PATCH", "PATCH", "PUT"]


def test_a_read_error_of_the_model_is_not_taken_for_the_networks(fake: FakeRegistry, connect: Connect) -> None:
    def broken(_start: int, _end: int) -> "list[memoryview]":
        raise ImageError("SourceUnreadable", "disk")

    with pytest.raises(ImageError) as caught:
        ensure_blob(connect(), DIGEST, 10, lambda start, end: iter(broken(start, end)), lambda _: None)
    assert caught.value.reason == "SourceUnreadable"
    assert fake.paths("PATCH") == []


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_a_part_is_taken_with_any_of_these_answers(fake: FakeRegistry, connect: Connect, status: int) -> None:
    fake.personality = replace(fake.personality, patch_status=status)
    send(connect)
    assert fake.blobs == {DIGEST: CONTENT}
    assert len(fake.paths("PATCH")) == 1


def test_a_range_that_stands_still_is_believed_not_to_count(
    fake: FakeRegistry, connect: Connect, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blob_upload, "MOST_AT_ONCE", 1 << 20)
    fake.personality = replace(fake.personality, range_stands_still=True)
    assert send(connect) == len(CONTENT)
    assert (fake.blobs, clock.now) == ({DIGEST: CONTENT}, 0)


def test_after_a_cut_such_a_registry_is_not_asked_how_far_it_is(
    fake: FakeRegistry, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be wrong about that too; the blob is sent anew."""
    monkeypatch.setattr(blob_upload, "MOST_AT_ONCE", 1 << 20)
    fake.personality = replace(fake.personality, range_stands_still=True)
    had, parts = fake.answer, [0]

    def answer(method: str, url: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        parts[0] += method == "PATCH"
        return (500, {}, b"") if (method, parts[0]) == ("PATCH", 3) else had(method, url, body)

    fake.answer = answer  # type: ignore[method-assign]
    send(connect)
    assert fake.blobs == {DIGEST: CONTENT}
    assert len(fake.paths("POST")) == 2


def test_a_blob_that_somebody_else_sent_meanwhile_is_there(fake: FakeRegistry, connect: Connect) -> None:
    """A registry that refuses to store it twice has it."""
    had = fake.answer

    def answer(method: str, url: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        if method == "PUT":
            fake.blobs[DIGEST] = CONTENT
            return 400, {}, b'{"errors": [{"code": "BLOB_UPLOAD_INVALID", "message": "cannot be updated"}]}'
        return had(method, url, body)

    fake.answer = answer  # type: ignore[method-assign]
    send(connect)
