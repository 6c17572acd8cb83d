"""Every example is explained on a page, so that readers find it without the repository."""

from devtools.lint_repo import ROOT
from tests import doc_manifests

PAGES = "\n".join(page.read_text() for page in (ROOT / "docs" / "examples").glob("*.md"))


def test_every_example_is_on_a_page() -> None:
    """Those of the quickstarts are on their own pages."""
    places = [manifest.place for manifest in doc_manifests.examples()]
    others = [
        place for place in places if not place.startswith(("examples/quickstart/", "examples/quickstart-pytorch/"))
    ]
    assert [place for place in others if f"(../../{place})" not in PAGES] == []
    assert len(others) > 20
