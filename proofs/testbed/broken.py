"""Whether `.ci/run` notices a broken test: it runs in a clone that has one, and must fail in its stage."""

import json
import os
import re
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
        test = '"""A broken test."""\n\n\ndef test_broken() -> None:\n    """It fails."""\n    assert 1 + 1 == 3\n'
        (clone / "tests" / "unit" / "test_broken.py").write_text(test)
        environment = {**os.environ, "INSTANCE": "5"}
        done = subprocess.run(
            ["bash", ".ci/run"], cwd=clone, env=environment, capture_output=True, text=True, timeout=1800, check=False
        )
    print(done.stdout[-2000:], file=sys.stderr)
    stages = re.findall(r"^== (\S+): failed", done.stdout, re.MULTILINE)
    print(json.dumps(f"failed in stage {stages[0]}" if done.returncode and stages else "passed"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
