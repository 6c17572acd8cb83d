"""What is said about an image, found from the image."""

import json

import pytest

from kubedl.models.packer.failure import PackingError
from kubedl.models.packer.manifests import MANIFEST, Document
from kubedl.models.packer.referrers import fallback_tag, push_referrer
from tests.unit.models.packer.conftest import Connect
from tests.unit.models.packer.fake_registry import FakeRegistry

IMAGE = Document(MANIFEST, b'{"image": true}')


def say(connect: Connect, words: bytes) -> str:
    return push_referrer(connect(), IMAGE, "application/x", "text/plain", words, {"a": "b"})


def test_a_registry_that_knows_subjects_keeps_the_list_itself(fake: FakeRegistry, connect: Connect) -> None:
    fake.knows_subjects = True
    digest = say(connect, b"one")
    assert json.loads(fake.manifests[digest])["subject"]["digest"] == IMAGE.digest
    assert fallback_tag(IMAGE.digest) not in fake.manifests


def test_for_others_we_keep_it_under_a_tag(fake: FakeRegistry, connect: Connect) -> None:
    """Each once, and nothing that somebody else entered is lost."""
    digests = [say(connect, b"one"), say(connect, b"two"), say(connect, b"one")]
    index = json.loads(fake.manifests[fallback_tag(IMAGE.digest)])
    assert [entry["digest"] for entry in index["manifests"]] == digests[:2]
    assert index["manifests"][0]["artifactType"] == "application/x"
    assert index["manifests"][0]["annotations"] == {"a": "b"}


def test_a_tag_that_holds_something_else_is_left_alone(fake: FakeRegistry, connect: Connect) -> None:
    fake.tag(fallback_tag(IMAGE.digest), b'{"manifests": "x"}')
    with pytest.raises(PackingError, match="is no index"):
        say(connect, b"one")
    assert fake.manifests[fallback_tag(IMAGE.digest)] == b'{"manifests": "x"}'
