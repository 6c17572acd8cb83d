"""The times of a schedule in a time zone, computed by cronsim, which follows Debian's cron.

At a change of daylight saving time: a run at a fixed time that is skipped takes place right after the change; one whose
time occurs twice takes place once. A schedule whose minute or hour begins with `*` follows the elapsed time.

Times are computed from the time that is asked about, forwards or backwards, never by going through all times since the
last run: years without an operator cost nothing.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
FIELDS = 5
# An hour that occurs twice has 60 minutes; the largest shift of the clocks of any zone is two hours.
MOST_STEPS = 200
UNREADABLE_ZONE = (KeyError, ValueError, OSError)
UNREADABLE_SCHEDULE = (CronSimError, ValueError, AssertionError, OverflowError)


class ScheduleError(ValueError):
    """The schedule has no times; `reason` is the reason of the condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Schedule:
    """A schedule in a time zone. Times are in UTC, with whole minutes."""

    def __init__(self, expression: str, time_zone: str = "") -> None:
        """Raises ScheduleError if the schedule or the time zone is not valid, or has no times."""
        self._expression = _normal(expression)
        self._zone = _zone(time_zone)
        try:
            fires = next(self._times(datetime(2000, 1, 1, tzinfo=UTC)), None)
        except UNREADABLE_SCHEDULE as error:
            raise ScheduleError("InvalidSchedule", f"schedule {expression!r} is not valid: {error}") from error
        if fires is None:
            raise ScheduleError("NeverFires", f"schedule {expression!r} has no times: there is no such day")

    def after(self, moment: datetime) -> datetime | None:
        """Return the first time after this moment, or None if there is none in the next 50 years."""
        for count, found in enumerate(self._times(moment)):
            when = _utc(found)
            if when > moment:  # else of the first of two equal hours
                return when
            if count > MOST_STEPS:
                break
        return None

    def latest(self, moment: datetime) -> datetime | None:
        """Return the last time that is not after this moment."""
        start = moment.replace(microsecond=0) + timedelta(seconds=1)
        newest = None
        for count, found in enumerate(self._times(start, reverse=True)):
            newest = _utc(found)
            if newest <= moment or count > MOST_STEPS:
                break
        if newest is None or newest > moment:
            return None
        # Going backwards misses times in an hour that occurs twice; going forwards does not.
        for _ in range(MOST_STEPS):
            following = self.after(newest)
            if following is None or following > moment:
                break
            newest = following
        return newest

    def _times(self, start: datetime, *, reverse: bool = False) -> CronSim:
        return CronSim(self._expression, start.astimezone(self._zone), reverse=reverse)


@lru_cache(maxsize=4096)
def parse(expression: str, time_zone: str = "") -> Schedule | ScheduleError:
    """Return the schedule, or why it has no times; the same text is parsed once."""
    try:
        return Schedule(expression, time_zone)
    except ScheduleError as error:
        return ScheduleError(error.reason, str(error))  # without its traceback, which would be kept in memory


def _normal(expression: str) -> str:
    """Return five fields: nicknames are replaced, and `?` means any, as in KubeDL 0.5."""
    text = NICKNAMES.get(expression.strip(), expression)
    fields = ["*" if field == "?" else field for field in text.split()]
    if len(fields) != FIELDS:
        raise ScheduleError("InvalidSchedule", f"schedule {expression!r} is not valid: it needs {FIELDS} fields")
    return " ".join(fields)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except UNREADABLE_ZONE as error:
        raise ScheduleError("InvalidTimeZone", f"there is no time zone {name!r}") from error


def _utc(found: datetime) -> datetime:
    return found.astimezone(UTC)
