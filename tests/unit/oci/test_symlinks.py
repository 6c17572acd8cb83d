"""Which links of a model stay inside it."""

import pytest

from kubedl.oci.errors import ImageError
from kubedl.oci.symlinks import Link, check_links

DIRECTORIES = {"", "a", "a/b", "c"}
FILES = {"file", "a/b/deep"}


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("l", "file"),
        ("l", "./file"),
        ("l", "a/b/deep"),
        ("a/l", "../file"),
        ("a/b/l", "../../c/../file"),
        ("a/l", "b"),
        ("a/l", ".."),
        ("l", "over/b/deep"),  # over another link
        ("l", "over/../file"),
    ],
)
def test_links_that_stay_inside(path: str, target: str) -> None:
    check_links(_links((path, target), ("over", "a")), DIRECTORIES, FILES)


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ([("l", "/file")], "is absolute"),
        ([("l", "..")], "leads out"),
        ([("a/l", "../../model/file")], "leads out"),
        ([("l", "file/below")], "points to nothing"),
        ([("l", "none")], "points to nothing"),
        ([("l", "m"), ("m", "l")], "leads out"),  # for ever
        ([("l", "m/x"), ("m", "/etc")], "leads out"),
        ([("l", "out/file"), ("out", "a/../..")], "leads out"),
        ([("l", "a\nb")], "cannot be printed"),
        ([("l", "\udcff")], "cannot be printed"),
    ],
)
def test_links_that_do_not(links: list[tuple[str, str]], words: str) -> None:
    with pytest.raises(ImageError, match=words) as caught:
        check_links(_links(*links), DIRECTORIES, FILES)
    assert caught.value.message.startswith("the link 'l'" if links[0][0] == "l" else "the link 'a/l'")


def _links(*pairs: tuple[str, str]) -> dict[str, Link]:
    return {path: Link(path, target) for path, target in pairs}
