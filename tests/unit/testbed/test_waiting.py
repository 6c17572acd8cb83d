"""Waiting ends as early as it can, and says what it waited for; time is virtual here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path

import pytest

from testbed import waiting
from testbed.errors import DeadlineError, TestbedError
from testbed.waiting import until, working_seconds


@dataclass
class Time:
    """A clock that moves only when somebody pauses."""

    now: float = 1000.0
    pauses: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def wait(self, condition: Callable[[], object], *, deadline: float = 10.0, interval: float = 1.0) -> object:
        return until("the kettle", condition, deadline=deadline, interval=interval, clock=self.clock, pause=self.pause)


@pytest.fixture
def time() -> Time:
    return Time()


def looks(*seen: object) -> Callable[[], object]:
    """A condition that shows these one after the other; an exception is raised."""
    rest = iter(seen)

    def condition() -> object:
        value = next(rest)
        if isinstance(value, Exception):
            raise value
        return value

    return condition


def test_first_true_value_is_returned_without_a_pause(time: Time) -> None:
    """What is there already must cost no time: the test bed waits hundreds of times."""
    assert time.wait(looks("tea")) == "tea"
    assert time.pauses == []


def test_condition_is_asked_again_after_each_interval(time: Time) -> None:
    assert time.wait(looks(None, 0, "", "tea", "late"), interval=0.5) == "tea"
    assert time.pauses == [0.5, 0.5, 0.5]


def test_condition_is_asked_once_even_if_there_is_no_time(time: Time) -> None:
    """A deadline of nothing is a plain check."""
    assert time.wait(looks("tea"), deadline=0) == "tea"


def test_condition_is_asked_a_last_time_at_the_deadline(time: Time) -> None:
    """What came true during the last pause is not reported as missing."""
    assert time.wait(lambda: time.now >= 1003, deadline=3) is True
    assert time.now == 1003


def test_error_names_what_was_waited_for_and_what_was_seen_last(time: Time) -> None:
    with pytest.raises(DeadlineError) as error:
        time.wait(looks(None, "", [], 0), deadline=2.5)
    assert str(error.value) == "waited 2.5 s for the kettle; last seen: 0"


def test_error_shows_the_last_exception(time: Time) -> None:
    """Connection refused and wrong certificate need different repairs."""
    with pytest.raises(DeadlineError) as error:
        time.wait(looks(None, ConnectionRefusedError("nobody listens")), deadline=1)
    assert str(error.value) == "waited 1 s for the kettle; last seen: ConnectionRefusedError: nobody listens"


@pytest.mark.parametrize(
    "not_yet", [FileNotFoundError(), ConnectionResetError(), TimeoutError(), DeadlineError("an inner wait")]
)
def test_what_is_not_there_yet_is_waited_for(time: Time, not_yet: Exception) -> None:
    """A refused connection or a missing file is the normal state of a thing that starts."""
    assert time.wait(looks(not_yet, not_yet, "tea")) == "tea"
    assert len(time.pauses) == 2


@pytest.mark.parametrize("broken", [TestbedError("it ended"), ValueError("no JSON"), KeyError("items")])
def test_other_errors_pass_through_at_once(time: Time, broken: Exception) -> None:
    """A component that has ended never becomes ready: nobody should wait a minute to be told."""
    with pytest.raises(type(broken)) as error:
        time.wait(looks(broken, "tea"))
    assert error.value is broken
    assert time.pauses == []


def test_slow_condition_uses_up_the_deadline_without_a_pause(time: Time) -> None:
    """The deadline is about time, not about the number of looks."""

    def slow() -> bool:
        time.now += 20
        return False

    with pytest.raises(DeadlineError):
        time.wait(slow, deadline=10)
    assert time.pauses == []


def test_nobody_pauses_after_the_deadline(time: Time) -> None:
    with pytest.raises(DeadlineError):
        time.wait(lambda: False, deadline=3)
    assert time.pauses == [1, 1, 1]


def test_last_pause_ends_at_the_deadline(time: Time) -> None:
    """A coarse interval must not stretch a deadline: 2.5 seconds are not 3."""
    with pytest.raises(DeadlineError):
        time.wait(lambda: False, deadline=2.5)
    assert time.pauses == [1, 1, 0.5]


def test_what_the_host_takes_away_is_not_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two processors that were taken away for 300 of 1,000 seconds each: the other 700 count."""
    processors = tmp_path / "stat"
    monkeypatch.setattr(waiting, "_PROCESSORS", processors)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr("os.sysconf", {"SC_CLK_TCK": 100}.__getitem__)
    seen = []
    for now, stolen in ((5000.0, 200), (6000.0, 60_200)):
        processors.write_text(f"cpu  1 2 3 4 5 6 7 {stolen} 9 10\ncpu0 1 2 3 4 5 6 7 {stolen} 9 10\n")
        monkeypatch.setattr("time.monotonic", lambda now=now: now)
        seen.append(working_seconds())
    assert seen[1] - seen[0] == pytest.approx(700)


def test_a_wait_goes_by_that_clock() -> None:
    assert signature(until).parameters["clock"].default is working_seconds
