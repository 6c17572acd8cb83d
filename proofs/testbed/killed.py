"""The launcher killed -9 at random moments: every next start must work and nothing may stay behind.

The moments are drawn from a seeded generator over the whole length of what is killed, so that a run
can be repeated and every step of a start and of an end is hit sooner or later.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields

from testbed import removal
from testbed.instance import Instance

INSTANCE = 5
ROUNDS = 10 if os.environ.get("PROOF_SIZE", "full") == "full" else 1
UP = ["-m", "testbed", "up", "--nodes", "2"]
DOWN = ["-m", "testbed", "down"]
TEST = ["-m", "pytest", "-q", "tests/e2e/test_nodes.py", "-k", "logs or address"]


def main() -> int:
    """Kill in each phase, count what failed afterwards and what is left."""
    moments = random.Random(7)  # noqa: S311  repeatable, not secret
    _run(DOWN)
    failed = 0
    try:
        whole = {"up": _seconds(UP), "test": _seconds(TEST), "down": _seconds(DOWN)}
        for phase, command, before in (("up", UP, DOWN), ("test", TEST, UP), ("down", DOWN, UP)):
            for number in range(1, ROUNDS + 1):
                _run(before)
                moment = moments.uniform(0.05, whole[phase])
                _killed_after(command, moment)
                works = _run(UP) == 0
                failed += not works
                print(
                    f"  {phase} {number}/{ROUNDS}: killed after {moment:.2f} s, next start "
                    f"{'works' if works else 'FAILS'}",
                    file=sys.stderr,
                    flush=True,
                )
    finally:
        _run(DOWN)
    left = removal.scan(Instance(INSTANCE))
    print(left, file=sys.stderr)
    count = sum(len(getattr(left, field.name)) for field in fields(left))
    print(json.dumps({"failed starts": failed, "left over": count}))
    return 0


def _killed_after(arguments: list[str], seconds: float) -> None:
    process = subprocess.Popen([sys.executable, *arguments], env=_environment(), stdout=sys.stderr)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()


def _run(arguments: list[str]) -> int:
    return subprocess.run([sys.executable, *arguments], env=_environment(), stdout=sys.stderr, check=False).returncode


def _seconds(arguments: list[str], clock: Callable[[], float] = time.monotonic) -> float:
    began = clock()
    if _run(arguments):
        sys.exit(f"{arguments} fails without being killed")
    return clock() - began


def _environment() -> dict[str, str]:
    return {**os.environ, "INSTANCE": str(INSTANCE)}


if __name__ == "__main__":
    sys.exit(main())
