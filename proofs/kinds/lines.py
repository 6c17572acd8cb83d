"""Count the lines of each kind's file: what a framework costs whoever reads or adds one."""

import json
import sys
from pathlib import Path

KINDS = Path(__file__).parents[2] / "src" / "kubedl" / "training" / "kinds"


def main() -> int:
    """Print the lines of each file by its name, comments and all."""
    files = [file for file in sorted(KINDS.glob("*.py")) if file.stem != "__init__"]
    print(json.dumps({file.stem: len(file.read_text().splitlines()) for file in files}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
