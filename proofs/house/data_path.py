"""The files that one job passes from watch event to pod to status, as docs/architecture.md lists them.

`python -m proofs.house.data_path` counts them, those named twice, those that do not exist, and those in `entrypoints`.
The last line is JSON.
"""

import json
import re
import sys

from devtools.lint_repo import ROOT

PAGE, HEADING = ROOT / "docs" / "architecture.md", "### From watch event to pod to status"
ENTRY = re.compile(r"^\d+\. `([\w/]+\.py)`", re.MULTILINE)


def main() -> int:
    """Print how many files there are, and how many are wrong."""
    section = PAGE.read_text().partition(HEADING)[2].partition("\n#")[0]
    files = ENTRY.findall(section)
    missing = [name for name in files if not (ROOT / "src" / "kubedl" / name).is_file()]
    figures = {
        "files": len(files),
        "twice": len(files) - len(set(files)),
        "missing": len(missing),
        "entrypoints": sum(name.startswith("entrypoints/") for name in files),
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
