"""The files of deploy/ that follow from the code; `--check` finds drift.

Directories of generated files hold nothing else: a file that no longer follows from the code is removed, or reported.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from devtools.chart import CHART, DIRECTORIES, generated

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"


def main() -> int:
    """Write the files, or say which of them no longer fit the code."""
    parser = argparse.ArgumentParser(prog="python -m devtools.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 on drift")
    checking = parser.parse_args().check
    wanted = generated(DEPLOY)
    stale = drift(DEPLOY, wanted)
    if checking and stale:
        names = ", ".join(f"{DEPLOY.name}/{name}" for name in stale)
        print(f"out of date: {names}; run `make generate`", file=sys.stderr)
        return 1
    write(DEPLOY, {name: wanted.get(name) for name in stale})
    return 0


def drift(directory: Path, wanted: Mapping[str, str]) -> list[str]:
    """Names of files that are missing, differ, or should not be there."""
    left_over = [path for part in DIRECTORIES for path in (directory / CHART / "files" / part).glob("*.yaml")]
    names = {str(path.relative_to(directory)) for path in left_over} | wanted.keys()
    return sorted(name for name in names if _text(directory / name) != wanted.get(name))


def write(directory: Path, texts: Mapping[str, str | None]) -> None:
    """Write each file; no text means that the file goes."""
    for name, text in texts.items():
        path = directory / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def _text(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
