"""Support tiers of frameworks, model servers and integrations, derived from tests: `python -m devtools.tiers`.

A row of tiers.toml names its evidence, never its tier. This writes the tables of the pages; a test compares them.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from devtools.lint_repo import ROOT
from devtools.named_tests import exists
from devtools.tables import table

DATA = Path(__file__).with_suffix(".toml")
SOFTWARE = ("testbed/images/definitions/{}.toml", "testbed/tools/{}/go.mod")
REAL_NODES = "tests/e2e/"
RUN, CONTRACT, NOT_TRIED = TIERS = ("run on real nodes", "contract-tested", "not tried")
GROUPS = {"framework": "frameworks", "server": "model servers", "integration": "integrations and platforms"}
READ_FIRST = (ROOT / "README.md", ROOT / "docs" / "README.md")
VERSIONS = ROOT / "docs" / "supported-versions.md"
PLACE = re.compile(r"(<!-- tiers -->\n).*?(<!-- end of tiers -->)", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """One piece of software and the evidence for it."""

    group: str
    name: str
    run: str = ""
    software: str = ""  # the image or program of the test bed that `run` used
    contract: str = ""
    framework: str = ""  # its name in an Inference, if other than `name`

    @property
    def tier(self) -> str:
        """What the evidence supports."""
        return RUN if self.run else CONTRACT if self.contract else NOT_TRIED


def load(text: str) -> tuple[list[Row], list[str]]:
    """Return the rows, and the names of software that has none."""
    data = tomllib.loads(text)
    return [Row(group, **entry) for group in GROUPS for entry in data[group]], data["without_a_row"]


def complaints(row: Row) -> Iterator[str]:
    """What a row claims beyond its evidence."""
    for test in filter(None, (row.run, row.contract)):
        if not exists(test):
            yield f"{row.name}: there is no test {test}"
    if row.run and not row.run.startswith(REAL_NODES):
        yield f"{row.name}: {row.run} is not under {REAL_NODES}, so it ran on no real node"
    if row.run and not any((ROOT / place.format(row.software or "-")).is_file() for place in SOFTWARE):
        yield f"{row.name}: the test bed has no image or program {row.software!r}, so it was not run"


def without_tier(page: str, others: Iterable[str]) -> list[str]:
    """Return the software without a row that a page names."""
    return [name for name in others if re.search(rf"\b{re.escape(name)}\b", page)]


def short_table(rows: Sequence[Row]) -> str:
    """One line for each tier."""
    lines = [
        (
            f"**{tier}**",
            *(", ".join(row.name for row in rows if (row.group, row.tier) == (group, tier)) for group in GROUPS),
        )
        for tier in TIERS
    ]
    return table(("", *GROUPS.values()), lines)


def long_table(rows: Sequence[Row]) -> str:
    """One line for each row, with its evidence."""
    return table(
        ("software", "tier", "test"),
        [(row.name, row.tier, f"`{test}`" if (test := row.run or row.contract) else "") for row in rows],
    )


def with_table(page: str, made: str) -> str:
    """Return a page with its table replaced."""
    return PLACE.sub(lambda found: f"{found[1]}\n{made}\n{found[2]}", page)


def tables(rows: Sequence[Row]) -> dict[Path, str]:
    """Return the table of each page that has one."""
    return {**dict.fromkeys(READ_FIRST, short_table(rows)), VERSIONS: long_table(rows)}


def main() -> int:
    """Write the tables, unless a row claims too much."""
    rows, _ = load(DATA.read_text())
    found = [complaint for row in rows for complaint in complaints(row)]
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    if not found:
        for path, made in tables(rows).items():
            path.write_text(with_table(path.read_text(), made))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
