"""What is thought of a version on trial, by what was measured of it. Pure. Not knowing is a verdict too."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

Outcome = Literal["Unknown", "Good", "Bad"]


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


def spelled(time: timedelta) -> str:
    """For people."""
    seconds = time.total_seconds()
    if time == timedelta.max:
        return "above the largest histogram bucket"
    return f"{seconds * 1000:g} ms" if seconds < 1 else f"{seconds:g} s"
