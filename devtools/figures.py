"""Figures on pages of docs/ come from the tables that a program has measured: `make docs` fails where they differ.

A page cites a cell of a table in docs/proofs or docs/performance.md by a comment right after the figure, with the page,
a part of the first cell of the row, and the column if it is not `measured`:

    495 MB<!-- figure proofs/engine.md "10,000 jobs and 100,000 pods" -->
    0.132<!-- figure performance.md "operator" "cores" --> cores
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MEASURED = "measured"

_CITED = re.compile(r'<!-- figure (?P<page>\S+\.md) "(?P<row>[^"]+)"(?: "(?P<column>[^"]+)")? -->')
_RULE = re.compile(r"\|[-| :]+\|")


def main() -> int:
    """Print every complaint about the pages."""
    pages = {str(path.relative_to(DOCS)): path.read_text() for path in sorted(DOCS.rglob("*.md"))}
    complaints = list(complaints_about(pages))
    print("\n".join(complaints), file=sys.stderr, end="\n" if complaints else "")
    return 1 if complaints else 0


def complaints_about(pages: Mapping[str, str]) -> Iterator[str]:
    """Figures that differ from what was measured, and those that are cited from nowhere; a line each."""
    for name, text in pages.items():
        for cited in _CITED.finditer(text):
            where = f"docs/{name}:{text.count(chr(10), 0, cited.start()) + 1}"
            column = cited["column"] or MEASURED
            cells = found(pages.get(cited["page"], ""), cited["row"], column)
            if len(cells) != 1:
                yield f"{where}: {cited['page']} has {len(cells)} rows with {cited['row']!r} and a column {column!r}"
            elif not re.search(rf"(?<![\d.,]){re.escape(cells[0])}$", text[: cited.start()]):
                yield f"{where}: {cells[0]} was measured ({cited['page']}, {cited['row']!r})"


def found(page: str, row: str, column: str) -> list[str]:
    """The cells of that column in rows whose first cell is this text, else of those that contain it."""
    rows = [line for line in _rows(page) if column in line]
    exact = [line[column] for line in rows if next(iter(line.values())) == row]
    return exact or [line[column] for line in rows if row in next(iter(line.values()))]


def _rows(page: str) -> Iterator[dict[str, str]]:
    """Every row of the tables of a page, by the names of its columns."""
    head: list[str] = []
    lines = page.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        if not line.startswith("|"):
            head = []
        elif _RULE.fullmatch(following):
            head = _cells(line)
        elif head and not _RULE.fullmatch(line):
            yield dict(zip(head, _cells(line), strict=False))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


if __name__ == "__main__":
    sys.exit(main())
