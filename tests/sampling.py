"""What CI runs of tests that repeat one rule: a sample, drawn by the commit; a proof (PROOF_SIZE=full) runs all."""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

import pytest

from harness.drivers.environment import FULL
from proofs.seed import seed

T = TypeVar("T")
NONE_SKIPPED = "KUBEDL_NO_TEST_SKIPPED"  # set where a test that is skipped counts as one that failed


def one_of(choices: Sequence[T], rule: str) -> Sequence[T]:
    """One of them, drawn for this rule; all of them in a proof."""
    return some_of(choices, 1, rule)


def some_of(choices: Sequence[T], count: int, rule: str) -> Sequence[T]:
    """So many of them, drawn for this rule; all of them in a proof."""
    dice = random.Random(f"{seed()} {rule}")  # noqa: S311 - no secret
    return choices if FULL else dice.sample(choices, count)


def unless_drawn(choice: T, choices: Sequence[T], rule: str) -> pytest.MarkDecorator:
    """Skip a test unless its choice is the one that is drawn, or none may be skipped."""
    drawn = choices if os.environ.get(NONE_SKIPPED) else one_of(choices, rule)
    return pytest.mark.skipif(choice not in drawn, reason=f"drawn for {rule}: {', '.join(map(str, drawn))}")
