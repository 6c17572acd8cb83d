"""The statement about how an image came to be."""

import json

import msgspec
import pytest

from kubedl.models.pack_protocol import Origin, PackRequest
from kubedl.models.packer.provenance import BUILD_TYPE, by_digest, code_address, statement

DIGEST = f"sha256:{'1' * 64}"
COMMIT = "c" * 40
ORIGIN = Origin(
    created_by="train",
    job_kind="TFJob",
    job_name="train",
    job_uid="4e2a",
    trainer_images={"tf:2": f"r.example.com/tf@sha256:{'2' * 64}", "odd": "odd:latest"},
    code_repository="https://me:secret@git.example.com/team/code.git?token=secret",
    code_revision=COMMIT,
    parent=f"r.example.com/base@sha256:{'3' * 64}",
)
ORDER = PackRequest("/model", "r.example.com/team/model", "v1", "ns", "resnet", "mv-1", origin=ORIGIN)


def test_it_is_about_the_image_and_says_who_asked_for_what() -> None:
    found = json.loads(statement(ORDER, DIGEST))
    assert found["_type"] == "https://in-toto.io/Statement/v1"
    assert found["predicateType"] == "https://slsa.dev/provenance/v1"
    assert found["subject"] == [{"name": "r.example.com/team/model", "digest": {"sha256": "1" * 64}}]
    predicate = found["predicate"]
    assert predicate["runDetails"]["metadata"] == {"invocationId": "ns/mv-1"}
    definition = predicate["buildDefinition"]
    assert definition["buildType"] == BUILD_TYPE
    assert definition["externalParameters"] == {
        "imageRepo": "r.example.com/team/model",
        "imageTag": "v1",
        "namespace": "ns",
        "modelName": "resnet",
        "modelVersion": "mv-1",
        "createdBy": "train",
        "job": {"kind": "TFJob", "name": "train", "uid": "4e2a"},
    }


def test_what_went_into_it_is_named_by_digest() -> None:
    """One that has none is named all the same; passwords are not."""
    content = statement(ORDER, DIGEST)
    found = json.loads(content)["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert found == [
        {"name": "trainer-image", "uri": "oci://odd:latest", "annotations": {"written": "odd"}},
        {
            "name": "trainer-image",
            "uri": f"oci://r.example.com/tf@sha256:{'2' * 64}",
            "digest": {"sha256": "2" * 64},
            "annotations": {"written": "tf:2"},
        },
        {
            "name": "code",
            "uri": f"git+https://git.example.com/team/code.git@{COMMIT}",
            "digest": {"gitCommit": COMMIT},
        },
        {"name": "parent-model", "uri": f"oci://r.example.com/base@sha256:{'3' * 64}", "digest": {"sha256": "3" * 64}},
    ]
    assert b"secret" not in content


def test_the_same_order_says_the_same() -> None:
    """In whatever order its images come; and it says nothing of where the model lay."""
    turned = dict(reversed(ORIGIN.trainer_images.items()))
    other = msgspec.structs.replace(
        ORDER, source="/other", origin=msgspec.structs.replace(ORIGIN, trainer_images=turned)
    )
    assert statement(other, DIGEST) == statement(ORDER, DIGEST)


def test_what_is_not_known_is_left_out() -> None:
    found = json.loads(statement(msgspec.structs.replace(ORDER, origin=Origin(code_revision="main")), DIGEST))
    definition = found["predicate"]["buildDefinition"]
    assert definition["resolvedDependencies"] == []
    assert definition["externalParameters"].keys().isdisjoint({"job", "createdBy"})


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        (f"r:5000/a/b@{DIGEST}", ("r:5000/a/b", DIGEST)),
        ("a/b:v1", ("a/b:v1", "")),
        ("a@md5:1", ("a@md5:1", "")),
        (DIGEST, (DIGEST, "")),
    ],
)
def test_a_digest_is_told_from_a_tag(image: str, parts: tuple[str, str]) -> None:
    assert by_digest(image) == parts


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("https://me:secret@git.example.com/a.git", "https://git.example.com/a.git"),
        ("git@git.example.com:team/a.git", "ssh://git@git.example.com/team/a.git"),
        ("git.example.com:/srv/a.git", "ssh://git.example.com/srv/a.git"),
        ("ssh://git:secret@[::1]:22/a b.git", "ssh://git@[::1]:22/a%20b.git"),
        ("https://git.example.com/a%20b.git", "https://git.example.com/a%20b.git"),
        ("/srv/git/a", "/srv/git/a"),
        ("https://bad host/a", ""),
        (":", ""),
        ("words", ""),
        ("https://[bad/a", ""),
        ("", ""),
    ],
)
def test_the_address_of_code_is_a_url(written: str, address: str) -> None:
    assert code_address(written) == address
