"""Sets of replica indexes as text, "0-2,5", as in batch Jobs: compact even for thousands."""

from collections.abc import Collection

from kubedl.api.replica_spec import MAX_REPLICAS

LONGEST_NUMBER = 9  # digits; a longer number is not an index
MOST_PARTS = MAX_REPLICAS // 2  # limit for the largest job: every second index


def write(indexes: Collection[int]) -> str:
    """As text, in order, neighbours joined."""
    if not indexes:
        return ""
    runs: list[list[int]] = []
    for index in sorted(set(indexes)):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def read(text: str) -> frozenset[int]:
    """Parse text; invalid parts are ignored, because a user may have edited the status.

    The cost is bounded for any text: parts beyond the largest possible job are not read, and overlapping parts are
    counted once.
    """
    if not text:
        return frozenset()
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
