"""Names of repositories and tags, as people write them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubedl.api.model import ModelOutput, validate
from kubedl.oci.errors import ImageError
from kubedl.oci.reference import ImageReference, parse_reference


@pytest.mark.parametrize(
    ("repository", "expected"),
    [
        ("modelhub/resnet", ImageReference("docker.io", "registry-1.docker.io", "modelhub/resnet")),
        ("resnet", ImageReference("docker.io", "registry-1.docker.io", "library/resnet")),
        ("docker.io/a/b", ImageReference("docker.io", "registry-1.docker.io", "a/b")),
        ("index.docker.io/a/b", ImageReference("docker.io", "registry-1.docker.io", "a/b")),
        ("localhost/a", ImageReference("localhost", "localhost", "a")),
        ("registry:5000/a/b/c", ImageReference("registry:5000", "registry:5000", "a/b/c")),
        ("r.example.com/team/my-model_v2.x", ImageReference("r.example.com", "r.example.com", "team/my-model_v2.x")),
        ("[::1]:5000/a", ImageReference("[::1]:5000", "[::1]:5000", "a")),
        ("[::ffff:10.0.0.1]/a", ImageReference("[::ffff:10.0.0.1]", "[::ffff:10.0.0.1]", "a")),
    ],
)
def test_a_repository_has_a_host(repository: str, expected: ImageReference) -> None:
    assert parse_reference(repository, "v1") == expected


@pytest.mark.parametrize(
    "repository",
    ["", "/a", "a/", "r.example.com/", "r.example.com/A", "r.example.com/a b", "r.example.com/a//b", "r.x/a\r\nX: 1",
     "user@r.example.com/a", "r.example.com:65536/a", "r.example.com/../a", "https://r.example.com/a",
     "r.example.com/" + "a" * 256],
)  # fmt: skip
def test_other_repositories_are_refused(repository: str) -> None:
    with pytest.raises(ImageError) as caught:
        parse_reference(repository, "v1")
    assert (caught.value.reason, caught.value.permanent) == ("BadOrder", True)


@pytest.mark.parametrize(
    "tag", ["", "a b", "-a", "a/b", "ä", "a" * 129, "sha256-" + "0" * 64, "sha256-" + "0" * 64 + ".sig"]
)
def test_other_tags_are_refused(tag: str) -> None:
    """Also those under which other things are looked for."""
    with pytest.raises(ImageError):
        parse_reference("r.example.com/a", tag)


@given(st.text("aB0._-:/[]", max_size=12))
@example("[::ffff:10.0.0.1]:5000/a")
@example("Team/model")
@example("my_team.x/model")
@example("localhost/a")
def test_the_api_server_refuses_the_same_repositories(repository: str) -> None:
    """Else a job would be trained whose model cannot be packed."""
    wish = ModelOutput(model_name="m", image_repo=repository)
    assert _refused(repository, "v1") == (validate(wish) or "").startswith("imageRepo")


@given(st.text("aB0._-/", min_size=1, max_size=12))
@example("sha256-" + "0" * 64)
@example("sha256-" + "0" * 64 + ".sig")
@example("sha256-" + "0" * 63)
@example("a" * 129)
def test_and_the_same_tags(tag: str) -> None:
    wish = ModelOutput(model_name="m", image_repo="hub/m", image_tag=tag)
    assert _refused("hub/m", tag) == (validate(wish) or "").startswith("imageTag")


def _refused(repository: str, tag: str) -> bool:
    try:
        parse_reference(repository, tag)
    except ImageError:
        return True
    return False
