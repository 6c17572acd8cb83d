"""What a browser loads of the console, and from where: `python -m proofs.console.size`, after `make console`.

Sizes are of the built files, compressed by gzip, except fonts, which are compressed already. The last line is JSON.
"""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import harness  # noqa: F401 - puts the product on the path
from kubedl.console.safety import content_policy

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "src" / "kubedl" / "console" / "static"
OURS = frozenset({"'self'", "'none'", "data:", "'nonce-of-this-page'"})


def main() -> int:
    """Print sizes by part, then the figures."""
    page = (BUILT / "index.html").read_text()
    parts = {"index.html": _compressed(BUILT / "index.html")}
    fonts = 0
    for file in sorted((BUILT / "assets").iterdir()):
        if file.suffix == ".woff2":
            fonts += file.stat().st_size
        elif file.suffix == ".gz":
            parts[file.stem] = file.stat().st_size
        else:
            parts[file.name] = _compressed(file)
    for name, size in parts.items():
        print(f"{size:8} {name}", file=sys.stderr)
    first = sum(size for name, size in parts.items() if name in page or name == "index.html")
    types = [sys.executable, "-m", "devtools.console_types", "--check"]
    compared = subprocess.run(types, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, check=False)
    figures = {
        "first page KB": first / 1000,
        "all KB": sum(parts.values()) / 1000,
        "fonts KB": fonts / 1000,
        "addresses in the lock": resolved(),
        "packages without a hash": unpinned(),
        "other origins in the policy": len(foreign_sources(content_policy("of-this-page"))),
        "types": "equal" if compared.returncode == 0 else "different",
    }
    print(json.dumps(figures))
    return 0


def resolved() -> int:
    """How many packages of the lock say where to download them from."""
    return sum("resolved" in one for one in _packages().values())


def unpinned() -> int:
    """How many packages of the lock have no hash."""
    return sum("integrity" not in one for place, one in _packages().items() if place)


def foreign_sources(policy: str) -> list[str]:
    """The sources of a content policy that are not the console itself."""
    directives = [part.split() for part in policy.split(";") if part.strip()]
    return [f"{name} {source}" for name, *sources in directives for source in sources if source not in OURS]


def _packages() -> dict[str, dict[str, object]]:
    lock = json.loads((ROOT / "console" / "package-lock.json").read_text())
    packages: dict[str, dict[str, object]] = lock["packages"]
    return packages


def _compressed(file: Path) -> int:
    return len(gzip.compress(file.read_bytes(), 9))


if __name__ == "__main__":
    sys.exit(main())
