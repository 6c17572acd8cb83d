"""A clean clone on a machine with nothing but Debian, Python and Go, and then once more with all built."""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from proofs.testbed.clean_machine import Machine

ROOT = Path(__file__).parents[2]
TARGETS = ("setup", "check", "test", "test-cluster", "test-e2e")
INSTANCE = 7


def main() -> int:
    """Run every target twice and print the minutes."""
    with tempfile.TemporaryDirectory(prefix="kubedl-fresh-") as directory:
        machine = Machine.create(Path(directory) / "root")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(machine.root / "kubedl")], check=True)
        cold, said = _all(machine)
        warm, _ = _all(machine)
        built = sum(int(seconds) for seconds in re.findall(r"^built kubernetes in (\d+) s", said, re.MULTILINE))
    minutes = {"cold minutes": cold / 60, "kubernetes minutes": built / 60, "warm minutes": warm / 60}
    print(json.dumps({name: round(value, 1) for name, value in minutes.items()}))
    return 0


def _all(machine: Machine) -> tuple[float, str]:
    """Seconds of all targets together, and what they said."""
    began, said = time.monotonic(), ""
    for target in TARGETS:
        step = time.monotonic()
        done = machine.run("make", "--no-print-directory", "-C", "/kubedl", target, instance=INSTANCE)
        said += done.stdout + done.stderr
        print(f"  make {target}: {time.monotonic() - step:.0f} s", file=sys.stderr, flush=True)
        if done.returncode:
            machine.run("make", "-C", "/kubedl", "cluster-down", instance=INSTANCE)
            sys.exit(f"make {target} failed:\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}")
    return time.monotonic() - began, said


if __name__ == "__main__":
    sys.exit(main())
