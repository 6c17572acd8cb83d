"""How the product grew between two commits, in lines of source: `python -m proofs.house.size 39b8043 d08bbc1`.

The last line is JSON; the lines before it have the figures by package. It needs a clone that has both.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import PurePosixPath

from devtools.lint_repo import ROOT

SOURCE = "src/kubedl"


def main() -> int:
    """Print lines before and after."""
    before, after = (_lines(commit) for commit in sys.argv[1:3])
    for package in sorted(before | after):
        print(f"{package:12} {before[package]:6} {after[package]:6}", file=sys.stderr)
    print(json.dumps({"before": before.total(), "after": after.total(), "growth": after.total() / before.total()}))
    return 0


def _lines(commit: str) -> Counter[str]:
    lines: Counter[str] = Counter()
    for path in _git("ls-tree", "-r", "--name-only", commit, SOURCE).splitlines():
        if path.endswith(".py"):
            package = PurePosixPath(path).relative_to(SOURCE).parts[0]
            lines[package] += _git("show", f"{commit}:{path}").count("\n")
    return lines


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
