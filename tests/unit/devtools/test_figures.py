"""A figure that differs from the measured one is found, and so is one that is cited from nowhere."""

import pytest

from devtools.figures import DOCS, complaints_about

PROOFS = """# What is proved

| claim | measured | bar | |
| --- | --- | --- | --- |
| Memory with 100,000 pods, peak | 495 MB | ≤ 1,500 | ok |
| Memory with 8,000 pods | 54.7 MB | ≤ 60 | ok |
"""
PERFORMANCE = """
| 500 jobs | cpu s |
| -------- | ----: |
| operator |  1.96 |

| job asked for | p99 s | cores |
| ------------- | ----: | ----: |
| operator      |  0.26 | 0.132 |
| operator two  |  0.27 | 0.133 |
"""


def found(text: str) -> list[str]:
    return list(complaints_about({"a.md": text, "proofs/engine.md": PROOFS, "performance.md": PERFORMANCE}))


def test_the_pages_cite_what_was_measured() -> None:
    pages = {str(path.relative_to(DOCS)): path.read_text() for path in DOCS.rglob("*.md")}
    assert list(complaints_about(pages)) == []


@pytest.mark.parametrize(
    "text",
    [
        'It needs 495 MB<!-- figure proofs/engine.md "100,000 pods" --> at its peak.',
        '| pods | 54.7 MB<!-- figure proofs/engine.md "8,000 pods" --> |',
        '0.132<!-- figure performance.md "operator" "cores" --> cores',
    ],
)
def test_a_figure_as_it_was_measured(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("figure", ["488 MB", "1495 MB", "1,495 MB", "4.495 MB", "495 GB", ""])
def test_a_figure_that_differs(figure: str) -> None:
    """With the line at which it stands."""
    text = f'\nIt needs {figure}<!-- figure proofs/engine.md "100,000 pods" -->.'
    assert found(text) == ["docs/a.md:2: 495 MB was measured (proofs/engine.md, '100,000 pods')"]


@pytest.mark.parametrize(
    "cited",
    ['proofs/engine.md "9,000 pods"', 'proofs/none.md "100,000 pods"', 'performance.md "operator" "p50 s"'],
)
def test_a_figure_from_nowhere(cited: str) -> None:
    """A claim, a page or a column that does not exist."""
    [complaint] = found(f"495 MB<!-- figure {cited} -->")
    assert " has 0 rows with " in complaint


def test_a_figure_that_could_be_two() -> None:
    [complaint] = found('495 MB<!-- figure proofs/engine.md "Memory with" -->')
    assert " has 2 rows with " in complaint
