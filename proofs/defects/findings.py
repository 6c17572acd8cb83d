"""The known defects and the tests that keep them out: `python -m proofs.defects.findings`.

Each finding names its tests. Every test must pass on the source as it is. With the finding's edits, which put the
defect back into a copy of the source, at least one of its tests must fail: a test that cannot fail proves nothing.
The result is a table, one row for each finding, written to docs/proofs/defects-findings.md with --write.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.drivers.environment import SOURCE
from harness.experiments.mutants import Edit, edited_copy

ROOT = Path(__file__).parents[2]
ROWS = Path(__file__).parent / "rows"
PAGE = ROOT / "docs/proofs/defects-findings.md"
COUNTS = {"engine": 27, "serving": 32}  # findings of each review; every one must have a row
MUST_BE_CLOSED = ("critical", "high", "medium")
SECONDS = 900.0  # for the tests of one finding


@dataclass(frozen=True)
class Finding:
    """One defect: what was wrong, what became of it, and what shows that."""

    id: str  # engine-1
    severity: str  # critical, high, medium, low
    defect: str  # what a user met, in a sentence
    state: str  # fixed, refuted, open
    tests: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    by_hand: str = ""  # instead of edits: what was reverted by hand, and how the test then failed
    reason: str = ""  # why it was refuted, or is left open
    cluster: bool = False  # whether its tests need a cluster


def load(directory: Path = ROWS) -> list[Finding]:
    """All findings, in the order of the reviews."""
    found = []
    for file in sorted(directory.glob("*.toml")):
        for entry in tomllib.loads(file.read_text()).get("finding", []):
            edits = tuple(Edit(**edit) for edit in entry.pop("edits", []))
            found.append(Finding(**{**entry, "tests": tuple(entry.get("tests", ())), "edits": edits}))
    return sorted(found, key=_order)


def _order(finding: Finding) -> tuple[str, int]:
    review, _, number = finding.id.rpartition("-")
    return review, int(number)


def missing(findings: Iterable[Finding]) -> list[str]:
    """Findings of the reviews that have no row."""
    known = {finding.id for finding in findings}
    wanted = (f"{review}-{number}" for review, count in COUNTS.items() for number in range(1, count + 1))
    return [identifier for identifier in wanted if identifier not in known]


def complaints(finding: Finding) -> list[str]:
    """What a row lacks."""
    lacks = []
    if finding.state == "fixed" and not finding.tests:
        lacks.append("names no test")
    if finding.state == "fixed" and not (finding.edits or finding.by_hand):
        lacks.append("does not say how its test fails without the fix")
    if finding.state in {"refuted", "open"} and not finding.reason:
        lacks.append("has no reason")
    if finding.state == "open" and finding.severity in MUST_BE_CLOSED:
        lacks.append(f"is open and {finding.severity}")
    return [f"{finding.id} {lack}" for lack in lacks]


def failing(tests: Sequence[str], source: Path | None = None) -> bool:
    """Whether a test among these fails; with another source if one is given."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = dict(os.environ)
    if source is not None:
        command += ["-o", f"pythonpath={source} ."]
        environment[SOURCE] = str(source)
    done = subprocess.run(
        command, cwd=ROOT, env=environment, timeout=SECONDS, check=False, capture_output=True, text=True
    )
    if done.returncode not in {0, 1}:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-2000:]}")
    return done.returncode == 1


def verdict(finding: Finding) -> str:
    """What running a finding's tests on both sources says: "" if all is as it must be."""
    if finding.state != "fixed":
        return ""
    if failing(finding.tests):
        return "its test fails"
    if finding.edits:
        with tempfile.TemporaryDirectory(prefix="kubedl-defect-") as directory:
            if not failing(finding.tests, edited_copy(finding.id, finding.edits, Path(directory))):
                return "its test passes without the fix"
    return ""


def page(findings: Iterable[Finding]) -> str:
    """The table as a page."""
    lines = [
        "# Known defects and their tests",
        "",
        "Written by `python -m proofs.defects.findings --write`. With the defect put back, the test of each row fails.",
        "",
        "| finding | severity | what went wrong | now | test or reason |",
        "| --- | --- | --- | --- | --- |",
    ]
    for finding in findings:
        shown = "<br>".join(f"`{test}`" for test in finding.tests) if finding.state == "fixed" else finding.reason
        lines.append(f"| {finding.id} | {finding.severity} | {finding.defect} | {finding.state} | {shown} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run every finding's tests and print how many rows are not as they must be."""
    parser = argparse.ArgumentParser(prog="python -m proofs.defects.findings", description=__doc__)
    parser.add_argument("--only", action="append", help="engine-1, serving-12; may be repeated")
    parser.add_argument("--no-cluster", action="store_true", help="leave out findings whose tests need a cluster")
    parser.add_argument("--write", action="store_true", help="write the page")
    arguments = parser.parse_args()
    findings = load()
    lacks = [complaint for finding in findings for complaint in complaints(finding)]
    wrong = {}
    for finding in findings:
        if (arguments.only and finding.id not in arguments.only) or (arguments.no_cluster and finding.cluster):
            continue
        said = verdict(finding)
        print(f"{'ok   ' if not said else 'WRONG'} {finding.id} {said}", file=sys.stderr, flush=True)
        if said:
            wrong[finding.id] = said
    for line in [*lacks, *(f"{identifier} has no row" for identifier in missing(findings))]:
        print(f"WRONG {line}", file=sys.stderr)
    if arguments.write:
        PAGE.write_text(page(findings))
    counts = {state: sum(finding.state == state for finding in findings) for state in ("fixed", "refuted", "open")}
    rows = {"rows": len(findings), "without a row": len(missing(findings)), "incomplete": len(lacks)}
    print(json.dumps({**counts, **rows, "wrong": len(wrong)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
