"""Times of schedules, in zones and at changes of summer time, against a search through every minute."""

import random
import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from kubedl.cron.schedule import Schedule, ScheduleError, parse

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo")
MINUTE = timedelta(minutes=1)


def utc(text: str) -> datetime:
    """A time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def local(schedule: Schedule, since: str, number: int, zone: str) -> list[str]:
    """The next times, as a clock on the wall shows them."""
    found, moment = [], utc(since)
    for _ in range(number):
        following = schedule.after(moment)
        assert following is not None
        moment = following
        found.append(moment.astimezone(ZoneInfo(zone)).strftime("%d. %H:%M %Z"))
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 3 * * *", "2026-01-02 03:00"),
        ("*/15 * * * *", "2026-01-01 12:15"),
        ("0 0 29 2 *", "2028-02-29 00:00"),
        ("0 0 L * *", "2026-01-31 00:00"),
        ("0 9 * * MON#2", "2026-01-12 09:00"),
        ("0 9 ? * MON-FRI", "2026-01-02 09:00"),
        ("@hourly", "2026-01-01 13:00"),
        ("@daily", "2026-01-02 00:00"),
        ("@weekly", "2026-01-04 00:00"),
        ("@monthly", "2026-02-01 00:00"),
        ("@yearly", "2027-01-01 00:00"),
        ("0 0 13 * FRI", "2026-01-02 00:00"),  # either day
    ],
)
def test_next_time(expression: str, expected: str) -> None:
    """Of every form that is documented."""
    assert Schedule(expression).after(utc("2026-01-01 12:00:30")) == utc(expected)


@pytest.mark.parametrize(
    ("expression", "zone", "reason"),
    [
        ("", "", "InvalidSchedule"),
        ("60 * * * *", "", "InvalidSchedule"),
        ("* * * *", "", "InvalidSchedule"),
        ("0 * * * * *", "", "InvalidSchedule"),  # with seconds
        ("@every 5m", "", "InvalidSchedule"),
        ("*/0 * * * *", "", "InvalidSchedule"),
        ("0 0 31 2 *", "", "InvalidSchedule"),
        ("0 0 */31 2 1#5", "", "NeverFires"),
        ("0 0 * * *", "Mars/Olympus", "InvalidTimeZone"),
        ("0 0 * * *", "../../../etc/passwd", "InvalidTimeZone"),
        ("0 0 * * *", "Europe", "InvalidTimeZone"),
    ],
)
def test_no_schedule(expression: str, zone: str, reason: str) -> None:
    """It is refused with a reason, and a message that quotes it."""
    refused = parse(expression, zone)
    assert isinstance(refused, ScheduleError)
    assert refused.reason == reason
    assert repr(zone or expression) in str(refused)


def test_a_fixed_time_that_is_skipped_comes_right_after_the_change() -> None:
    """In Berlin the clocks go from 2 to 3 on March 29."""
    found = local(Schedule("30 2 * * *", "Europe/Berlin"), "2026-03-27 12:00", 3, "Europe/Berlin")
    assert found == ["28. 02:30 CET", "29. 03:00 CEST", "30. 02:30 CEST"]


def test_a_fixed_time_that_occurs_twice_comes_once() -> None:
    """In Berlin the clocks go from 3 to 2 on October 25."""
    found = local(Schedule("30 2 * * *", "Europe/Berlin"), "2026-10-24 12:00", 2, "Europe/Berlin")
    assert found == ["25. 02:30 CEST", "26. 02:30 CET"]


def test_an_interval_goes_by_the_time_that_has_passed() -> None:
    """Every half hour, also in the hour that occurs twice."""
    schedule = Schedule("*/30 * * * *", "Europe/Berlin")
    found = local(schedule, "2026-10-25 00:00", 4, "Europe/Berlin")
    assert found == ["25. 02:30 CEST", "25. 02:00 CET", "25. 02:30 CET", "25. 03:00 CET"]


@pytest.mark.parametrize("zone", ZONES)
def test_both_directions_agree_with_a_walk_through_all_times(zone: str) -> None:
    """Around every change of the clocks in a year: the latest time until now, and the first after it."""
    dice = random.Random(zone)  # noqa: S311 - not a secret
    expressions = ("30 1 * * *", "0,20,40 0-3 * * *", "*/30 * * * *", "50-59 1-2 * * *", "59 23 * * *", "0 0 * * *")
    changes = [day for day in range(365) if _offset(zone, day) != _offset(zone, day + 1)]
    for day in changes or [100]:
        start = utc("2026-01-01") + timedelta(days=day - 1)
        for expression in expressions:
            schedule = Schedule(expression, zone)
            times, moment = [], start - timedelta(days=2)
            while moment < start + timedelta(days=4):
                following = schedule.after(moment)
                assert following is not None
                assert following > moment
                times.append(following)
                moment = following
            for _ in range(8):
                now = start + timedelta(seconds=dice.randint(0, 3 * 86400))
                assert schedule.latest(now) == max(one for one in times if one <= now), (expression, now)
            for one in dice.sample(times[1:-1], 2):
                assert schedule.latest(one) == one
                assert schedule.latest(one - timedelta(seconds=1)) == times[times.index(one) - 1]


def test_years_of_missed_times_cost_nothing() -> None:
    """Five million minutes are not gone through."""
    schedule = Schedule("* * * 1 *")
    began = time.process_time()
    assert schedule.latest(utc("2036-12-31 12:00:30")) == utc("2036-01-31 23:59")
    assert time.process_time() - began < 0.1


def _offset(zone: str, day: int) -> timedelta | None:
    return (utc("2026-01-01 12:00") + timedelta(days=day)).astimezone(ZoneInfo(zone)).utcoffset()
