"""The launcher killed -9 at random moments: every next start must work and nothing may stay behind.

The moments are drawn from a seeded generator over the whole length of what is killed, so that every
step of a start and of an end is hit sooner or later. What is left is judged by the machine itself,
before and after, not by the code that cleans.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time

from proofs.testbed.leftovers import traces
from testbed.errors import DeadlineError
from testbed.waiting import until

INSTANCE = 5
ROUNDS = 10 if os.environ.get("PROOF_SIZE", "full") == "full" else 1
UP = ["-m", "testbed", "up", "--nodes", "2"]
DOWN = ["-m", "testbed", "down"]
TEST = ["-m", "pytest", "-q", "tests/e2e/test_nodes.py", "-k", "logs or address"]


def main() -> int:
    """Kill in each phase, count what failed afterwards and what is left."""
    _must(DOWN)
    before = traces(INSTANCE)
    kills = failed = 0
    try:
        whole = {"up": _seconds(UP), "test": _seconds(TEST), "down": _seconds(DOWN)}
        moments = random.Random(7)  # noqa: S311  repeatable, not secret
        for phase, command, prelude in (("up", UP, DOWN), ("test", TEST, UP), ("down", DOWN, UP)):
            done = 0
            while done < ROUNDS:
                _must(prelude)
                moment = moments.uniform(0.05, whole[phase])
                if not _killed_after(command, moment):
                    continue  # it was faster this time
                done += 1
                works = _run(UP) == 0
                failed += not works
                outcome = "works" if works else "FAILS"
                print(f"  {phase} {done}/{ROUNDS}: killed after {moment:.2f} s, next start {outcome}", file=sys.stderr)
            kills += done
    finally:
        _must(DOWN)
    left = sorted(_left(before))
    print("\n".join(["  left over:", *left]), file=sys.stderr, flush=True)
    print(json.dumps({"failed starts": failed, "kills": kills, "left over": len(left)}))
    return 0


def _left(before: set[str]) -> set[str]:
    """What was not there before and does not go by itself."""
    left = traces(INSTANCE) - before

    def gone() -> bool:
        left.intersection_update(traces(INSTANCE))
        return not left

    with contextlib.suppress(DeadlineError):
        until("what ends by itself to be gone", gone, deadline=90, interval=0.5)
    return left


def _killed_after(arguments: list[str], seconds: float) -> bool:
    """Whether the command was still running then, and so was killed."""
    process = subprocess.Popen([sys.executable, *arguments], env=_environment(), stdout=sys.stderr)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True
    return False


def _run(arguments: list[str]) -> int:
    return subprocess.run([sys.executable, *arguments], env=_environment(), stdout=sys.stderr, check=False).returncode


def _must(arguments: list[str]) -> None:
    if _run(arguments):
        sys.exit(f"{arguments} fails without being killed")


def _seconds(arguments: list[str]) -> float:
    began = time.monotonic()
    _must(arguments)
    return time.monotonic() - began


def _environment() -> dict[str, str]:
    return {**os.environ, "INSTANCE": str(INSTANCE)}


if __name__ == "__main__":
    sys.exit(main())
