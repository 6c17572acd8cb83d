"""What CI runs of tests that repeat one rule: a sample, drawn by the commit, so that each change takes another one.

SEED repeats the sample of a failed run; a proof (PROOF_SIZE=full) runs all.
"""

import os
import random
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from harness.drivers.environment import FULL

T = TypeVar("T")


@cache
def seed() -> str:
    """Of this commit, unless one is given."""
    if given := os.environ.get("SEED"):
        return given
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "0"


def one_of(choices: Sequence[T], rule: str) -> Sequence[T]:
    """One of them, drawn for this rule; all of them in a proof."""
    dice = random.Random(f"{seed()} {rule}")  # noqa: S311 - no secret
    return choices if FULL else [dice.choice(choices)]
