"""Run a tier's tests once and print how each ended, by name: `python -m proofs.tests tests/e2e`.

What a test records with `record_property("fields", 7)` is printed as `test_x fields`.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree


def main() -> int:
    """Two at a time, since a test mostly waits."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            sys.argv[1],
            "-n",
            "2",
            "--dist",
            "loadgroup",
            f"--junitxml={report}",
        ]
        subprocess.run(command, stdout=sys.stderr, check=False)
        print(json.dumps(outcomes(report.read_text())))
    return 0


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
