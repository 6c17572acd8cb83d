"""Whether `.ci/run` notices a broken test: it runs in a clone that has one, and must fail in its stage."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Print how CI ended."""
    with tempfile.TemporaryDirectory(prefix="kubedl-broken-") as directory:
        clone = Path(directory) / "kubedl"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        (clone / ".venv").symlink_to(ROOT / ".venv")  # what a new environment takes is measured elsewhere
        for sound in (clone / "tests" / "unit").rglob("test_*.py"):
            sound.unlink()  # they have had their turn
        test = '"""A broken test."""\n\n\ndef test_broken() -> None:\n    """It fails."""\n    assert 1 + 1 == 3\n'
        (clone / "tests" / "unit" / "test_broken.py").write_text(test)
        budgets = clone / ".ci" / "budgets"  # are for a machine that nobody else uses, and CI itself runs on this one
        budgets.write_text(re.sub(r"\b\d+\b", lambda found: f"{found[0]}0", budgets.read_text()))
        code, said = _run_ci(clone)
    print(said[-2000:], file=sys.stderr)
    stages = re.findall(r"^== (\S+): failed", said, re.MULTILINE)
    print(json.dumps(f"failed in stage {stages[0]}" if code and stages else "passed"))
    return 0


def _run_ci(clone: Path) -> tuple[int, str]:
    """How CI ended and what it said; it is stopped once it is past the broken test, which proves the claim wrong."""
    environment = {**os.environ, "INSTANCE": "7"}  # and 6 for its second lane: the CI that measures this has others
    words = ["bash", ".ci/run"]
    ci = subprocess.Popen(words, cwd=clone, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)
    said = ""
    for line in ci.stdout or ():
        said += line
        if line.startswith("== test: ok"):
            os.killpg(ci.pid, signal.SIGTERM)
    return ci.wait(), said


if __name__ == "__main__":
    sys.exit(main())
