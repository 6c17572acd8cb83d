"""Sets of replica indexes as text, "0-2,5", the way batch Jobs write them: small in status even for thousands."""

from collections.abc import Iterable

from kubedl.api.training import MAX_REPLICAS

LONGEST_NUMBER = 9  # digits; more is no index


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
    """From text; what cannot be read counts as nothing, because a person may have edited it."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        last = last or first
        if first.isdecimal() and last.isdecimal() and max(len(first), len(last)) <= LONGEST_NUMBER:
            found.update(range(int(first), min(int(last) + 1, MAX_REPLICAS)))
    return frozenset(found)
