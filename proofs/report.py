"""The page that an area's full run leaves behind: what was measured, when, on which commit and machine."""

import datetime
import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

from proofs.claims import Value

MANY = 1_000_000  # from here on `g` would drop digits


@dataclass(frozen=True)
class Row:
    """One measured claim."""

    sentence: str
    measured: Value
    bar: str
    unit: str
    ok: bool
    commit: str = ""  # if it was measured at an earlier one
    limit: str = ""  # what limits it

    def __str__(self) -> str:
        return f"{'ok   ' if self.ok else 'SHORT'} {self._figure()} (bar {self._bar()})  {self.sentence}"

    def cells(self) -> str:
        """The row as Markdown."""
        at = f" ({self.commit})" if self.commit else ""
        return f"| {self.sentence} | {self._figure()}{at} | {self._bar()} | {'ok' if self.ok else '**short**'} |"

    def _figure(self) -> str:
        if isinstance(self.measured, str):
            return self.measured
        shown = f"{self.measured:,.0f}" if abs(self.measured) >= MANY else f"{self.measured:g}"
        return f"{shown} {self.unit}".strip()

    def _bar(self) -> str:
        return f"{self.bar} {self.unit}".strip()


def write(root: Path, area: str, rows: list[Row]) -> None:
    """Write docs/proofs/<area>.md."""
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, Linux {platform.release()}, Python {platform.python_version()}"
    )
    earlier = " Rows that name a commit were measured at that one." if any(row.commit for row in rows) else ""
    lines = [
        f"# What is proved: {area}",
        "",
        f"Measured {date} at commit {_commit(root)} on {machine}, by `make prove-{area}`.{earlier}",
        "",
        "| claim | measured | bar | |",
        "| --- | --- | --- | --- |",
        *(row.cells() for row in rows),
        *_limits(rows),
    ]
    page = root / "docs" / "proofs" / f"{area}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(lines) + "\n")


def _limits(rows: list[Row]) -> list[str]:
    """What limits rows that are short, each reason once."""
    limits = dict.fromkeys(row.limit for row in rows if row.limit and not row.ok)
    return ["", "What limits the short ones:", "", *(f"- {limit}" for limit in limits)] if limits else []


def _commit(root: Path) -> str:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()

    changed = " with local changes" if git("status", "--porcelain") else ""
    return git("rev-parse", "--short", "HEAD") + changed
