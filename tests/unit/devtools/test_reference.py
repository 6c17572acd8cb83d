"""The generated page says what the code says."""

from devtools.reference import ROOT, describe_testbed, pages
from testbed import tools
from testbed.images.definitions_loader import Catalogue


def test_every_program_and_image_is_on_the_page() -> None:
    """A new one cannot be forgotten."""
    page = describe_testbed()
    for program in [name for tool in tools.catalogue().values() for name in tool.packages]:
        assert program in page
    for image in Catalogue().names():
        assert f"| {image} |" in page


def test_versions_come_from_the_pins() -> None:
    """The page names the version that is built."""
    assert "| etcd | etcd | go.etcd.io/etcd/server/v3 v3.6.12 |" in describe_testbed()
    assert "k8s.io/kubernetes v1.36" in describe_testbed()


def test_the_pages_are_what_the_code_says() -> None:
    """And the same each time: another process wrote them."""
    written = pages(ROOT)
    assert {path: path.read_text() for path in written} == written
