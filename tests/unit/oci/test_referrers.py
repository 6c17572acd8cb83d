"""What is said about an image, found from the image."""

import json

import pytest

from kubedl.oci.errors import ImageError
from kubedl.oci.manifests import MANIFEST, Document
from kubedl.oci.referrers import fallback_tag, push_referrers, referrer
from tests.unit.oci.conftest import Connect
from tests.unit.oci.fake_registry import FakeRegistry, Fault
from tests.unit.oci.test_registry import denied

IMAGE = Document(MANIFEST, b'{"image": true}')


def say(connect: Connect, *all_words: bytes) -> list[str]:
    said = [referrer(IMAGE, "application/x", "text/plain", words, {"a": "b"}) for words in all_words]
    assert push_referrers(connect(), said, IMAGE) == {}
    return [one.manifest.digest for one in said]


def test_a_registry_that_knows_subjects_keeps_the_list_itself(fake: FakeRegistry, connect: Connect) -> None:
    fake.knows_subjects = True
    [digest] = say(connect, b"one")
    assert json.loads(fake.manifests[digest])["subject"]["digest"] == IMAGE.digest
    assert fallback_tag(IMAGE.digest) not in fake.manifests


def test_for_others_we_keep_it_under_a_tag(fake: FakeRegistry, connect: Connect) -> None:
    """Each once, and nothing that somebody else entered is lost."""
    digests = [*say(connect, b"one"), *say(connect, b"two", b"one")]
    index = json.loads(fake.manifests[fallback_tag(IMAGE.digest)])
    assert [entry["digest"] for entry in index["manifests"]] == digests[:2]
    assert index["manifests"][0]["artifactType"] == "application/x"
    assert index["manifests"][0]["annotations"] == {"a": "b"}


def test_a_tag_that_holds_something_else_is_left_alone(fake: FakeRegistry, connect: Connect) -> None:
    fake.tag(fallback_tag(IMAGE.digest), b'{"manifests": "x"}')
    one = referrer(IMAGE, "application/x", "text/plain", b"one", {})
    assert "is not an index" in push_referrers(connect(), [one], IMAGE)[one.manifest.digest]
    assert fake.manifests[fallback_tag(IMAGE.digest)] == b'{"manifests": "x"}'


def test_the_list_is_written_once_for_all(fake: FakeRegistry, connect: Connect) -> None:
    """A registry may refuse to write a tag a second time."""
    say(connect, b"one", b"two", b"three")
    assert len([path for path in fake.paths("PUT") if path.endswith(fallback_tag(IMAGE.digest))]) == 1


def test_what_is_refused_is_told_and_the_rest_is_attached(fake: FakeRegistry, connect: Connect) -> None:
    said = [referrer(IMAGE, f"application/{n}", "text/plain", b"words", {}) for n in ("a", "b")]
    fake.faults = [Fault("PUT", 405, path=said[0].manifest.digest, body=denied("UNSUPPORTED", "no"))]
    refused = push_referrers(connect(), said, IMAGE)
    assert list(refused) == [said[0].manifest.digest]
    assert "application/a" in refused[said[0].manifest.digest]
    assert "UNSUPPORTED 'no'" in refused[said[0].manifest.digest]
    index = json.loads(fake.manifests[fallback_tag(IMAGE.digest)])
    assert [entry["digest"] for entry in index["manifests"]] == [said[1].manifest.digest]


def test_what_may_pass_is_no_refusal(fake: FakeRegistry, connect: Connect) -> None:
    """It is tried again, by another packer if need be."""
    one = referrer(IMAGE, "application/x", "text/plain", b"one", {})
    fake.faults = [Fault("PUT", 503, path=one.manifest.digest) for _ in range(200)]
    with pytest.raises(ImageError) as caught:
        push_referrers(connect(), [one], IMAGE)
    assert caught.value.reason == "RegistryFailed"
