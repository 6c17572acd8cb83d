"""Evaluates the metrics of a canary. Pure. Unknown is a result too.

Both the whole step and the last minutes are evaluated: in a step of hours, an outage would be a small part of all
requests for a long time. The last minutes are evaluated repeatedly, so they fail only if the excess is significant.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from math import sqrt
from typing import Literal

Outcome = Literal["Unknown", "Good", "Bad"]

WINDOW = timedelta(minutes=5)  # the last minutes
DEVIATIONS = 4  # standard deviations above the expected number of failures, before the last minutes fail
LEAST = 4  # failures above that: among few requests, a few failures are random
SLOWER = 2  # times the latency limit


@dataclass(frozen=True)
class Thresholds:
    """The limits for a canary."""

    error_rate: float | None = None  # of its requests, 0 to 1
    p99: timedelta | None = None
    min_requests: int = 1  # requests that a step needs before it is evaluated


@dataclass(frozen=True)
class Metrics:
    """The metrics of a canary since its step began."""

    requests: int
    failures: int
    p99: timedelta | None = None  # None if unknown; infinite if above the largest histogram bucket
    recent: "Metrics | None" = None  # of the last minutes; None if the step is shorter
    # False: nothing was ever counted, so that nobody can tell no requests from no metrics. Both judge alike.
    counted: bool = field(default=True, compare=False)


@dataclass(frozen=True)
class AnalysisResult:
    """The result for a canary: reason and message."""

    outcome: Outcome
    reason: str = ""
    message: str = ""


GOOD = AnalysisResult("Good")
PENDING = AnalysisResult("Unknown")  # no metrics yet


def evaluate(bounds: Thresholds, figures: Metrics) -> AnalysisResult:
    """Evaluate the metrics of a canary. Pending results have no figures in the message, as these keep changing."""
    if figures.requests < bounds.min_requests:
        return AnalysisResult(
            "Unknown", "TooFewRequests", f"fewer than {bounds.min_requests} requests (analysis.minRequests)"
        )
    late = _late(bounds, figures.recent) if figures.recent is not None else None
    if late is not None:
        return late
    rate = figures.failures / figures.requests if figures.requests else 0.0
    seen = f"of {figures.requests} requests"
    if bounds.error_rate is not None and rate > bounds.error_rate:
        message = f"{rate:.2%} {seen} failed, which exceeds analysis.errorRate ({bounds.error_rate:.2%})"
        return AnalysisResult("Bad", "ErrorRate", message)
    if bounds.p99 is not None and figures.requests and figures.p99 is None:
        return AnalysisResult("Unknown", "NoMetrics", "there are no latency metrics")
    if bounds.p99 is not None and figures.p99 is not None and figures.p99 > bounds.p99:
        message = f"p99 latency {spelled(figures.p99)} {seen} exceeds analysis.p99 ({spelled(bounds.p99)})"
        return AnalysisResult("Bad", "Latency", message)
    return AnalysisResult("Good", "WithinBounds", f"{rate:.2%} {seen} failed")


def _late(bounds: Thresholds, recent: Metrics) -> AnalysisResult | None:
    """Return whether a canary exceeded its limits in the last minutes."""
    seen = f"of {recent.requests} requests in the last {spelled(WINDOW)}"
    if bounds.error_rate is not None:
        allowed = bounds.error_rate * recent.requests
        if recent.failures > allowed + DEVIATIONS * sqrt(allowed) + LEAST:
            rate = recent.failures / recent.requests
            message = f"{rate:.2%} {seen} failed, which exceeds analysis.errorRate ({bounds.error_rate:.2%})"
            return AnalysisResult("Bad", "ErrorRate", message)
    if bounds.p99 is None or recent.p99 is None or recent.requests < bounds.min_requests:
        return None
    if recent.p99 == timedelta.max or recent.p99 > SLOWER * bounds.p99:
        message = f"p99 latency {spelled(recent.p99)} {seen} exceeds analysis.p99 ({spelled(bounds.p99)}) by far"
        return AnalysisResult("Bad", "Latency", message)
    return None


def spelled(time: timedelta) -> str:
    """Format a duration."""
    seconds = time.total_seconds()
    if time == timedelta.max:
        return "above the largest histogram bucket"
    return f"{seconds * 1000:g} ms" if seconds < 1 else f"{seconds:g} s"
