"""Run a tier's tests once and print how each ended, by name: `python -m proofs.tests tests/e2e`."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree


def main() -> int:
    """A test with parameters has passed if every case has."""
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
        cases = ElementTree.parse(report).iter("testcase")  # noqa: S314  our own file
        outcomes: dict[str, str] = {}
        for case in cases:
            name = case.get("name", "").partition("[")[0]
            broken = any(case.find(tag) is not None for tag in ("failure", "error", "skipped"))
            outcomes[name] = "not passed" if broken else outcomes.get(name, "passed")
    print(json.dumps(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
