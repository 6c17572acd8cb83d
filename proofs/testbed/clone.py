"""A clean clone with empty caches, then once more with full ones: the newcomer's wait and the daily one."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGETS = ("setup", "check", "test", "test-cluster", "test-e2e")


def main() -> int:
    """Run every target twice and print the minutes."""
    with tempfile.TemporaryDirectory(prefix="kubedl-cold-") as directory:
        place = Path(directory)
        clone = place / "kubedl"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        environment = cold_environment(place)
        cold, said = _all(clone, environment)
        warm, _ = _all(clone, environment)
        built = sum(int(seconds) for seconds in re.findall(r"^built kubernetes in (\d+) s", said, re.MULTILINE))
    minutes = {"cold minutes": cold / 60, "kubernetes minutes": built / 60, "warm minutes": warm / 60}
    print(json.dumps({name: round(value, 1) for name, value in minutes.items()}))
    return 0


def cold_environment(place: Path) -> dict[str, str]:
    """Every cache in an empty directory, and a test bed of its own."""
    caches = {
        "KUBEDL_TESTBED_HOME": "testbed",
        "GOMODCACHE": "go-modules",
        "GOCACHE": "go-build",
        "UV_CACHE_DIR": "uv",
        "PIP_CACHE_DIR": "pip",
    }
    writable = f"{os.environ.get('GOFLAGS', '')} -modcacherw".strip()  # so that the directory can be removed
    paths = {name: str(place / directory) for name, directory in caches.items()}
    return {**os.environ, **paths, "GOFLAGS": writable, "INSTANCE": "5"}


def _all(clone: Path, environment: dict[str, str]) -> tuple[float, str]:
    """Seconds of all targets together, and what they said."""
    began, said = time.monotonic(), ""
    for target in TARGETS:
        step = time.monotonic()
        done = subprocess.run(["make", target], cwd=clone, env=environment, capture_output=True, text=True, check=False)
        said += done.stdout
        print(f"  make {target}: {time.monotonic() - step:.0f} s", file=sys.stderr, flush=True)
        if done.returncode:
            sys.exit(f"make {target} failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return time.monotonic() - began, said


if __name__ == "__main__":
    sys.exit(main())
