"""Dependencies pinned by hash: requirements/*.txt from pyproject.toml, and a check without network.

Each file begins with the hash of the declarations it was resolved from, so that a declaration
changed without `make lock` is found offline. Files carry no address of a package index.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MARK = "# resolved from declarations sha256:"


def main() -> int:
    """Write the files, or say which of them are out of date."""
    parser = argparse.ArgumentParser(prog="python -m devtools.lock", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 if a file is out of date")
    checking = parser.parse_args().check
    if not checking:
        for name, arguments in targets(ROOT).items():
            resolve(ROOT, name, arguments)
        return 0
    stale = [name for name in targets(ROOT) if not current(ROOT, name)]
    if stale:
        print(f"requirements out of date with pyproject.toml: {', '.join(stale)}; run `make lock`", file=sys.stderr)
    return 1 if stale else 0


def targets(root: Path) -> dict[str, list[str]]:
    """Lock file → what goes into it: one per extra, and one for developers, who run all of it and its peers."""
    extras = _project(root)["project"]["optional-dependencies"]
    developers = ["--extra", "operator", "--extra", "history", "--group", "dev", "--group", "bench"]
    image = ["--extra", "operator", "--extra", "history"]  # one image for all processes of a cluster
    return {name: ["--extra", name] for name in extras} | {"image": image, "dev": developers}


def current(root: Path, name: str) -> bool:
    """Whether a lock file was resolved from what pyproject.toml says now."""
    file = _file(root, name)
    return file.exists() and file.read_text().startswith(f"{MARK}{_declared(root)}\n")


def resolve(root: Path, name: str, arguments: list[str]) -> None:
    """Resolve one lock file anew."""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--generate-hashes", "--no-header"]
    command += ["--universal", "--python-version", "3.11", *arguments, "pyproject.toml"]
    resolved = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    _file(root, name).write_text(f"{MARK}{_declared(root)}\n{resolved}")


def _declared(root: Path) -> str:
    project = _project(root)
    parts = [project["project"][part] for part in ("requires-python", "dependencies", "optional-dependencies")]
    return hashlib.sha256(json.dumps([*parts, project["dependency-groups"]]).encode()).hexdigest()


def _project(root: Path) -> dict[str, dict[str, Any]]:
    return tomllib.loads((root / "pyproject.toml").read_text())


def _file(root: Path, name: str) -> Path:
    return root / "requirements" / f"{name}.txt"


if __name__ == "__main__":
    sys.exit(main())
