"""A version that turns bad late in a long step is noticed soon; one that is within its bounds is not by chance."""

import random
from datetime import timedelta

import pytest

from kubedl.serving.rollout.analysis import WINDOW, Metrics, Thresholds, evaluate

BOUNDS = Thresholds(error_rate=0.01, p99=timedelta(milliseconds=400), min_requests=1000)
RATE = 10  # requests a second
FAST = timedelta(milliseconds=100)


def after(hours: float, seconds: int, failing: float = 1.0, slow: timedelta = FAST) -> Metrics:
    """A step that has lasted so long, and such a part of its requests failed in its last seconds."""
    lost = round(seconds * RATE * failing)
    minutes = round(WINDOW.total_seconds()) * RATE
    recent = Metrics(minutes, min(lost, minutes), slow)
    return Metrics(round(hours * 3600 * RATE), lost, FAST, recent if hours > 0.1 else None)


@pytest.mark.parametrize("hours", [0.5, 12, 168])
def test_an_outage_is_noticed_within_seconds_however_long_the_step_has_lasted(hours: float) -> None:
    """By the whole step alone it would take 437 seconds after 12 hours."""
    assert evaluate(BOUNDS, after(hours, 3)).outcome == "Good"
    found = evaluate(BOUNDS, after(hours, 6))
    assert (found.outcome, found.reason) == ("Bad", "ErrorRate")
    assert found.message == "2.00% of 3000 requests in the last 300 s failed, which exceeds analysis.errorRate (1.00%)"


def test_a_version_that_gets_slow_is_noticed() -> None:
    """Clearly: a little more than allowed in five minutes is no outage."""
    assert evaluate(BOUNDS, after(12, 0, slow=timedelta(milliseconds=800))).outcome == "Good"
    for slow in (timedelta(milliseconds=801), timedelta.max):
        assert evaluate(BOUNDS, after(12, 0, slow=slow)).reason == "Latency"


@pytest.mark.parametrize("requests", [10, 100, 3000])
def test_chance_does_not_end_a_trial(requests: int) -> None:
    """At half the rate that is allowed, judged as often as in a week."""
    drawn = random.Random(1)  # noqa: S311 - no secret
    for _ in range(2016 if requests < 3000 else 200):
        lost = sum(drawn.random() < 0.005 for _ in range(requests))
        whole = Metrics(10**6, 5000, FAST, Metrics(requests, lost, FAST))
        assert evaluate(BOUNDS, whole).outcome == "Good"


def test_few_requests_in_the_last_minutes_say_nothing_of_latency() -> None:
    found = evaluate(BOUNDS, Metrics(10**6, 0, FAST, Metrics(BOUNDS.min_requests - 1, 0, timedelta(seconds=9))))
    assert found.outcome == "Good"
