"""Retry limit and backoff of failed replicas. The counter is in the status, so a restarted operator continues it."""

from datetime import timedelta

FREE_DISRUPTIONS = 3  # a node that rejects pods at once must not cause a hot loop


def exceeded(retries: int, limit: int | None) -> bool:
    """Return whether the number of retries exceeds the limit. None: no limit."""
    return limit is not None and retries > limit


def pause(before: int, disrupted: bool) -> timedelta:
    """Return the delay of a replacement after a failure, from the number of earlier ones."""
    rank = before - FREE_DISRUPTIONS if disrupted else before
    return timedelta(seconds=min(5 * 2 ** min(rank - 1, 10), 300)) if rank > 0 else timedelta()
