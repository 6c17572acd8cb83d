"""How often and how fast failed replicas are tried again. The counter is in status: a new operator goes on counting."""

from datetime import timedelta

FREE_DISRUPTIONS = 3  # a node that refuses pods at once must not make us create them in a hot loop


def exceeded(retries: int, limit: int | None) -> bool:
    """Whether one more retry than allowed was asked for. No limit: tried for ever."""
    return limit is not None and retries > limit


def pause(before: int, disrupted: bool) -> timedelta:
    """How long after a failure its replacement may come, given how many replacements there were before."""
    rank = before - FREE_DISRUPTIONS if disrupted else before
    return timedelta(seconds=min(5 * 2 ** min(rank - 1, 10), 300)) if rank > 0 else timedelta()
