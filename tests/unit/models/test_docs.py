"""What the pages about model images promise."""

from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"


def test_no_page_promises_kserve_a_shell() -> None:
    """A modelcar runs a shell in the model image, and the image has no programs."""
    promising = [page for page in DOCS.rglob("*.md") if page.parent.name != "proofs"]  # proofs tell of old defects
    naming = [page for page in promising if "KServe" in page.read_text() and "oci://" in page.read_text()]
    assert [page.name for page in naming] == ["pack-a-model.md"]
    assert "modelcar mode does not work" in naming[0].read_text()
