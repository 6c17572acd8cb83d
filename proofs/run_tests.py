"""Run a tier's tests once and print how each ended, by name: `python -m proofs.run_tests tests/e2e`.

What a test records with `record_property("fields", 7)` is printed as `test_x fields`.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

PARALLEL = ("-n", "2", "--dist", "loadgroup")  # two at a time, since a test mostly waits


def main() -> int:
    """Run what is named."""
    print(json.dumps(run(sys.argv[1], *PARALLEL)))
    return 0


def run(*arguments: str, environment: Mapping[str, str] | None = None) -> dict[str, str | float]:
    """How tests ended, by name, and what they recorded; what pytest says goes to the terminal."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        command = [sys.executable, "-m", "pytest", *arguments, f"--junitxml={report}"]
        subprocess.run(command, env=environment, stdout=sys.stderr, check=False)
        return outcomes(report.read_text())


def outcomes(report: str) -> dict[str, str | float]:
    """From pytest's report. A test with parameters has passed if every case has; what its cases record is added up."""
    found: dict[str, str | float] = {}
    recorded: dict[str, float] = {}
    for case in ElementTree.fromstring(report).iter("testcase"):  # noqa: S314  our own file
        name = case.get("name", "").partition("[")[0]
        broken = any(case.find(tag) is not None for tag in ("failure", "error", "skipped"))
        found[name] = "not passed" if broken else found.get(name, "passed")
        for entry in case.iter("property"):
            key = f"{name} {entry.get('name')}"
            recorded[key] = recorded.get(key, 0) + float(entry.get("value", "nan"))
    return found | recorded


if __name__ == "__main__":
    sys.exit(main())
