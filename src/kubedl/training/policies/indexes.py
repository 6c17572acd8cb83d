"""Sets of replica indexes as text, "0-2,5", the way batch Jobs write them: small in status even for thousands."""

from collections.abc import Iterable

from kubedl.api.training import MAX_REPLICAS

LONGEST_NUMBER = 9  # digits; more is no index
MOST_PARTS = MAX_REPLICAS // 2  # of the largest job: every second index


def write(indexes: Iterable[int]) -> str:
    """As text, in order, neighbours joined."""
    runs: list[list[int]] = []
    for index in sorted(set(indexes)):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def read(text: str) -> frozenset[int]:
    """From text; what cannot be read counts as nothing, because a person may have edited it.

    Whatever the text, its cost is bounded by the largest job: parts beyond those that it can have are not read, and
    parts that overlap are counted once.
    """
    runs: list[tuple[int, int]] = []
    for part in text.split(",", MOST_PARTS)[:MOST_PARTS]:
        first, _, last = part.partition("-")
        last = last or first
        if first.isdecimal() and last.isdecimal() and max(len(first), len(last)) <= LONGEST_NUMBER:
            runs.append((int(first), min(int(last) + 1, MAX_REPLICAS)))
    found, end = set[int](), 0
    for first_index, after in sorted(runs):
        found.update(range(max(first_index, end), after))
        end = max(end, after)
    return frozenset(found)
