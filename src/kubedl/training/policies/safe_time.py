"""Date arithmetic that cannot overflow: a made-up date in the year 9999 must not stop the loop."""

from datetime import UTC, datetime, timedelta

LONG_AGO = datetime.min.replace(tzinfo=UTC)
NEVER = datetime.max.replace(tzinfo=UTC)


def later(moment: datetime, delay: timedelta) -> datetime:
    """Return the time after a duration, limited to the last representable date."""
    try:
        return moment + delay
    except OverflowError:
        return NEVER
