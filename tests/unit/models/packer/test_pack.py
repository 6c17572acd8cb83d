"""From a model on disk to a tag, and how it ends when it does not get there."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from kubedl.models.pack_protocol import PackRequest, PackResult
from kubedl.models.packer import pack as module
from kubedl.models.packer.pack import pack
from kubedl.oci.blob_upload import ensure_blob
from kubedl.oci.errors import ImageError
from kubedl.oci.referrers import Referrer, fallback_tag
from tests.unit.oci.conftest import Connect
from tests.unit.oci.fake_registry import FakeRegistry, Fault


def failure(order: PackRequest, connect: Connect) -> ImageError:
    with pytest.raises(ImageError) as caught:
        pack(order, connect())
    return caught.value


def test_the_answer_is_what_the_registry_has(fake: FakeRegistry, connect: Connect, order: PackRequest) -> None:
    answer = pack(order, connect())
    content = fake.manifests["v1"]
    assert answer.digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
    image = json.loads(content)
    assert answer.size == sum(layer["size"] for layer in image["layers"])
    assert {layer["digest"] for layer in image["layers"]} <= fake.blobs.keys()
    assert (answer.layers_uploaded, answer.layers_reused, answer.bytes_uploaded) == (3, 0, answer.size)
    pointer = json.loads(fake.manifests[answer.artifact_digest])
    assert pointer["subject"]["digest"] == answer.digest
    assert json.loads(fake.manifests[fallback_tag(answer.digest)])["manifests"][0]["digest"] == answer.artifact_digest


def test_the_tag_comes_last(fake: FakeRegistry, connect: Connect, order: PackRequest) -> None:
    answer = pack(order, connect())
    puts = [path.rpartition("/")[2] for path in fake.paths("PUT") if "/manifests/" in path]
    assert puts == [answer.digest, answer.artifact_digest, fallback_tag(answer.digest), "v1"]


def test_packed_again_nothing_is_sent(fake: FakeRegistry, connect: Connect, order: PackRequest) -> None:
    """The digest is that of content and order: neither the date nor the place on disk counts."""
    first = pack(order, connect())
    fake.seen.clear()
    os.utime(Path(order.source) / "saved_model.pb", (1, 1))
    again = pack(order, connect())
    assert again == PackResult(first.digest, first.artifact_digest, first.size, layers_reused=3)
    assert {request.method for request in fake.seen} == {"HEAD", "GET"}


@pytest.mark.parametrize("lost", ["manifest", "list", "configuration"])
def test_what_belongs_to_an_image_is_there_also_if_its_tag_was(
    fake: FakeRegistry, connect: Connect, order: PackRequest, lost: str
) -> None:
    """Somebody may have copied the image alone, or tidied up."""
    first = pack(order, connect())
    blobs, manifests = dict(fake.blobs), dict(fake.manifests)
    if lost == "list":
        del fake.manifests[fallback_tag(first.digest)]
    else:
        pointer = json.loads(fake.manifests.pop(first.artifact_digest))
    if lost == "configuration":
        del fake.blobs[pointer["config"]["digest"]]
    again = pack(order, connect())
    assert again == PackResult(first.digest, first.artifact_digest, first.size, layers_reused=3)
    assert (fake.blobs, fake.manifests) == (blobs, manifests)


def test_one_changed_file_is_one_layer(fake: FakeRegistry, connect: Connect, order: PackRequest, model: Path) -> None:
    pack(order, connect())
    (model / "saved_model.pb").write_bytes(b"other")
    answer = pack(msgspec.structs.replace(order, tag="v2"), connect())
    assert (answer.layers_uploaded, answer.layers_reused) == (2, 1)  # and the list of files, which is small


@pytest.mark.parametrize("when", ["before", "meanwhile", "at the last moment"])
def test_a_tag_that_is_taken_is_never_moved(
    fake: FakeRegistry, connect: Connect, order: PackRequest, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = b'{"other": 1}'
    if when == "before":
        fake.tag("v1", other)
    elif when == "meanwhile":
        monkeypatch.setattr(module, "push_referrers", lambda *_: _tagged(fake, other))
    else:  # a registry whose tags cannot be moved
        fake.faults = [Fault("PUT", 409, path="/manifests/v1")]
        monkeypatch.setattr(module, "_tag", _racing(fake, other))
    error = failure(order, connect)
    assert (error.reason, error.permanent) == ("TagConflict", True)
    assert "choose another tag" in error.message
    assert fake.manifests["v1"] == other
    if when == "before":
        assert fake.blobs == {}


def test_a_source_that_changes_meanwhile_leaves_no_tag(
    fake: FakeRegistry, connect: Connect, order: PackRequest, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def changing(*arguments: object) -> int:
        (model / "variables" / "weights").write_bytes(b"new")
        return ensure_blob(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "ensure_blob", changing)
    assert failure(order, connect).reason == "SourceChanged"
    assert "v1" not in fake.manifests


@pytest.mark.parametrize("late", ["shard-2", "lock"])
@pytest.mark.parametrize("taken", [False, True])
def test_a_file_that_comes_late_leaves_no_manifest(
    fake: FakeRegistry, connect: Connect, order: PackRequest, model: Path, late: str, taken: bool
) -> None:
    """Neither a new one nor one that was empty is read; half a model would have been packed."""
    (model / "lock").touch()
    if taken:
        pack(order, connect())
    before = dict(fake.manifests)
    had = fake.answer

    def answer(method: str, url: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        (model / late).write_bytes(b"weights")
        return had(method, url, body)

    fake.answer = answer  # type: ignore[method-assign]
    error = failure(order, connect)
    assert (error.reason, error.permanent) == ("SourceChanged", False)
    assert fake.manifests == before


def test_the_first_error_ends_all_threads(fake: FakeRegistry, connect: Connect, order: PackRequest) -> None:
    fake.faults = [Fault("POST", 403) for _ in range(9)]
    assert failure(order, connect).reason == "Forbidden"


def test_what_else_is_said_is_said_before_the_tag(fake: FakeRegistry, connect: Connect, order: PackRequest) -> None:
    seen: list[bool] = []

    def attach(*_: object) -> tuple[bool, Sequence[Referrer]]:
        seen.append("v1" in fake.manifests)
        return True, ()

    assert pack(order, connect(), attach).signed
    assert seen == [False]


def _tagged(fake: FakeRegistry, other: bytes) -> dict[str, str]:
    fake.tag("v1", other)
    return {}


def _racing(fake: FakeRegistry, other: bytes) -> object:
    had = module._tag  # noqa: SLF001

    def tag(*arguments: object) -> None:
        answer = fake.answer

        def quick(method: str, url: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
            given = answer(method, url, body)
            if url.endswith("/manifests/v1"):
                fake.tag("v1", other)
            return given

        fake.answer = quick  # type: ignore[method-assign]
        had(*arguments)  # type: ignore[arg-type]

    return tag
