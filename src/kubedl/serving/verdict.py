"""What is thought of a version on trial, by what was measured of it. Pure. Not knowing is a verdict too.

A version is judged by its whole step and by the last minutes: in a step of hours an outage would be a small part of all
requests for a long time. The last minutes are judged again and again, so they must be clearly bad, not by chance.
"""

from dataclasses import dataclass
from datetime import timedelta
from math import sqrt
from typing import Literal

Outcome = Literal["Unknown", "Good", "Bad"]

WINDOW = timedelta(minutes=5)  # the last minutes
DEVIATIONS = 4  # of the number of failures beyond what is allowed, before the last minutes are bad
LEAST = 4  # failures beyond that: of few requests a few failures are chance
SLOWER = 2  # times the bound of latency


@dataclass(frozen=True)
class Bounds:
    """What a candidate must keep within."""

    error_rate: float | None = None  # of its requests, 0 to 1
    p99: timedelta | None = None
    min_requests: int = 1  # that must be seen in a step before anything is concluded


@dataclass(frozen=True)
class Figures:
    """What was measured of a candidate since its step began."""

    requests: int
    failures: int
    p99: timedelta | None = None  # None if nobody knows; the longest there is, if longer than anybody measures
    recent: "Figures | None" = None  # of the last minutes alone; None in a step that has not lasted longer


@dataclass(frozen=True)
class Verdict:
    """What is to be thought of a candidate, in a word for programs and a sentence for people."""

    outcome: Outcome
    reason: str = ""
    message: str = ""


GOOD = Verdict("Good")
PENDING = Verdict("Unknown")  # nobody has answered yet


def judge(bounds: Bounds, figures: Figures) -> Verdict:
    """What the figures say of a candidate. What is not known yet is told without figures, which change all the time."""
    if figures.requests < bounds.min_requests:
        return Verdict("Unknown", "TooFewRequests", f"fewer than {bounds.min_requests} requests (analysis.minRequests)")
    late = _late(bounds, figures.recent) if figures.recent is not None else None
    if late is not None:
        return late
    rate = figures.failures / figures.requests if figures.requests else 0.0
    seen = f"of {figures.requests} requests"
    if bounds.error_rate is not None and rate > bounds.error_rate:
        message = f"{rate:.2%} {seen} failed, which exceeds analysis.errorRate ({bounds.error_rate:.2%})"
        return Verdict("Bad", "ErrorRate", message)
    if bounds.p99 is not None and figures.requests and figures.p99 is None:
        return Verdict("Unknown", "NoMetrics", "there are no metrics of latency")
    if bounds.p99 is not None and figures.p99 is not None and figures.p99 > bounds.p99:
        message = f"p99 latency {spelled(figures.p99)} {seen} exceeds analysis.p99 ({spelled(bounds.p99)})"
        return Verdict("Bad", "Latency", message)
    return Verdict("Good", "WithinBounds", f"{rate:.2%} {seen} failed")


def _late(bounds: Bounds, recent: Figures) -> Verdict | None:
    """Whether a version has turned bad in the last minutes."""
    seen = f"of {recent.requests} requests in the last {spelled(WINDOW)}"
    if bounds.error_rate is not None:
        allowed = bounds.error_rate * recent.requests
        if recent.failures > allowed + DEVIATIONS * sqrt(allowed) + LEAST:
            rate = recent.failures / recent.requests
            message = f"{rate:.2%} {seen} failed, which exceeds analysis.errorRate ({bounds.error_rate:.2%})"
            return Verdict("Bad", "ErrorRate", message)
    if bounds.p99 is None or recent.p99 is None or recent.requests < bounds.min_requests:
        return None
    if recent.p99 == timedelta.max or recent.p99 > SLOWER * bounds.p99:
        message = f"p99 latency {spelled(recent.p99)} {seen} exceeds analysis.p99 ({spelled(bounds.p99)}) by far"
        return Verdict("Bad", "Latency", message)
    return None


def spelled(time: timedelta) -> str:
    """For people."""
    seconds = time.total_seconds()
    if time == timedelta.max:
        return "above the largest histogram bucket"
    return f"{seconds * 1000:g} ms" if seconds < 1 else f"{seconds:g} s"
