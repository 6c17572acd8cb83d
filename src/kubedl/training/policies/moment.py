"""Moments to come. A date that somebody made up, in the year 9999, must not stop the loop."""

from datetime import UTC, datetime, timedelta

LONG_AGO = datetime.min.replace(tzinfo=UTC)
NEVER = datetime.max.replace(tzinfo=UTC)


def later(moment: datetime, delay: timedelta) -> datetime:
    """That long after a moment, as far as there is such a date."""
    try:
        return moment + delay
    except OverflowError:
        return NEVER
