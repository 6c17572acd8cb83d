"""What CI runs of tests that repeat one rule: a sample, drawn by the commit; a proof (PROOF_SIZE=full) runs all."""

import random
from collections.abc import Sequence
from typing import TypeVar

from harness.drivers.environment import FULL
from proofs.seed import seed

T = TypeVar("T")


def one_of(choices: Sequence[T], rule: str) -> Sequence[T]:
    """One of them, drawn for this rule; all of them in a proof."""
    dice = random.Random(f"{seed()} {rule}")  # noqa: S311 - no secret
    return choices if FULL else [dice.choice(choices)]
