"""Run the tests of the fault matrix once and print, by name, how each ended and how often its fault was repeated.

    PROOF_SIZE=full python -m harness.experiments.fault_matrix

The last line is JSON: `test_x` is passed or not, `test_x repetitions` and `test_x seconds` are what the test recorded.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
TESTS = "tests/cluster/faults"


def main() -> int:
    """Two at a time, since a test mostly waits."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", f"--junitxml={report}"]
        subprocess.run([*command, *(sys.argv[1:] or [TESTS])], cwd=ROOT, stdout=sys.stderr, check=False)
        print(json.dumps(figures(report.read_text())))
    return 0


def figures(report: str) -> dict[str, str | float]:
    """From pytest's report."""
    found: dict[str, str | float] = {}
    for case in ElementTree.fromstring(report).iter("testcase"):  # noqa: S314  our own file
        name = case.get("name", "").partition("[")[0]
        broken = any(case.find(tag) is not None for tag in ("failure", "error", "skipped"))
        found[name] = "not passed" if broken else found.get(name, "passed")
        for entry in case.iter("property"):
            found[f"{name} {entry.get('name')}"] = float(entry.get("value", "nan"))
    return found


if __name__ == "__main__":
    sys.exit(main())
