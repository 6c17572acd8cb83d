"""docs/performance.md: prose by hand, and between two marks each the tables of the last run, with date and machine."""

import datetime
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A table that is readable as Markdown and in a terminal; the first column is a name, the others are figures."""
    cells = [list(head), *([_text(value) for value in row] for row in rows)]
    first, *others = (max(map(len, column)) for column in zip(*cells, strict=True))

    def line(row: Sequence[str]) -> str:
        figures = (cell.rjust(width) for cell, width in zip(row[1:], others, strict=True))
        return f"| {' | '.join([row[0].ljust(first), *figures])} |"

    rule = ["-" * first, *("-" * (width - 1) + ":" for width in others)]
    return [line(row) for row in (cells[0], rule, *cells[1:])]


def write(section: str, command: str, lines: Iterable[str]) -> None:
    """Put a section's new content where the old one was."""
    content = "\n".join([f"Measured {today()} at commit {commit()} on {machine()}, by `{command}`.", "", *lines])
    PAGE.write_text(replaced(PAGE.read_text(), section, content))


def replaced(page: str, section: str, content: str) -> str:
    """The page with another content between a section's marks."""
    opening, closing = f"<!-- {section} -->\n", f"<!-- end of {section} -->\n"
    before, found, rest = page.partition(opening)
    _, ended, after = rest.partition(closing)
    if not found or not ended:
        raise ValueError(f"docs/performance.md has no marks for {section!r}")
    return f"{before}{opening}\n{content}\n\n{closing}{after}"


def machine() -> str:
    """What it was measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}, Python {platform.python_version()}"


def commit() -> str:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    changed = " with local changes" if git("status", "--porcelain") else ""
    return git("rev-parse", "--short", "HEAD") + changed


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int | float) else str(value)
