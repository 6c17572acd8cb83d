"""How fast a number of members trains, as a part of the full size's pace, and what recent measurements say."""

import math
from collections.abc import Sequence

from kubedl.training.elastic.terms import Terms

ENOUGH = 600  # seconds of training from which on the measured pace is believed
SLOWEST = 0.001


def pace(members: int, size: int, measured: Sequence[tuple[int, float]] = ()) -> float:
    """Return the pace of so many members: as measured, else in proportion to the next larger size that is known.

    The full size has the pace 1. Proportion underestimates smaller sizes, since scaling is rarely better than linear.
    """
    if members >= size:
        return 1.0
    if members <= 0:
        return 0.0
    known, known_pace = size, 1.0
    for at, value in measured:
        if members <= at < known:
            known, known_pace = at, value
    return known_pace * members / known


def smallest_size(terms: Terms, target: float, measured: Sequence[tuple[int, float]] = ()) -> int:
    """Return the smallest allowed size whose pace reaches the target; the full size if none does."""
    for members in range(terms.min_size, terms.size, terms.step):
        if pace(members, terms.size, measured) >= target:
            return members
    return terms.size


def allowed_size(terms: Terms, members: int) -> int:
    """Return the largest allowed size that so many members can form; 0 below the minimum."""
    if members >= terms.size:
        return terms.size
    if members < terms.min_size:
        return 0
    return members - (members - terms.min_size) % terms.step


def p95(samples: Sequence[int]) -> int:
    """Return the 95th percentile by nearest rank; 0 without samples."""
    if not samples:
        return 0
    return sorted(samples)[math.ceil(0.95 * len(samples)) - 1]


def measured_pace(gained: float, trained: float) -> float:
    """Return the pace of what the work promises, by the progress in a time of training; more is not counted on."""
    if trained < ENOUGH:
        return 1.0
    return min(1.0, max(round(gained / trained, 3), SLOWEST))
