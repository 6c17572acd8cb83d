"""Metrics of the recorder. Labels are names of sinks and tables, never of objects."""

from collections import Counter as Count
from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from kubedl.history.observation import Change

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)


class RecorderMetrics:
    """All of them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._rows = Counter("kubedl_recorder_rows", "Rows written", ("sink", "table"), registry=registry)
        self._failures = Counter(
            "kubedl_recorder_failures", "Attempts to write that failed and are repeated", ("sink",), registry=registry
        )
        self._rejected = Counter(
            "kubedl_recorder_rejected", "Rows dropped because the sink rejects them", ("sink",), registry=registry
        )
        self._lost = Counter(
            "kubedl_recorder_lost",
            "Last states of deleted objects dropped because too many were waiting",
            ("sink",),
            registry=registry,
        )
        self._lag = Histogram(
            "kubedl_recorder_lag_seconds",
            "Seconds from an observation to its commit",
            ("sink",),
            registry=registry,
            buckets=_SECONDS,
        )
        self._pending = Gauge(
            "kubedl_recorder_pending", "Observations that wait to be written", ("sink",), registry=registry
        )
        self._oldest = Gauge(
            "kubedl_recorder_oldest_seconds",
            "Age of the oldest observation that waits to be written",
            ("sink",),
            registry=registry,
        )

    def watch(self, sink: str, pending: Callable[[], float], oldest: Callable[[], float]) -> None:
        """Export the queue of a sink; the functions are called at each scrape."""
        self._pending.labels(sink).set_function(pending)
        self._oldest.labels(sink).set_function(oldest)
        for counter in (self._failures, self._rejected, self._lost):
            counter.labels(sink)

    def written(self, sink: str, batch: Sequence[Change], now: float) -> None:
        """Record a batch that was committed at `now`, in monotonic seconds."""
        for table, number in Count(change.table for change in batch).items():
            self._rows.labels(sink, table).inc(number)
        lag = self._lag.labels(sink)
        for change in batch:
            lag.observe(max(0.0, now - change.observed))

    def failed(self, sink: str) -> None:
        """Record an attempt that failed."""
        self._failures.labels(sink).inc()

    def rejected(self, sink: str) -> None:
        """Record a row that was dropped as invalid."""
        self._rejected.labels(sink).inc()

    def lost(self, sink: str) -> None:
        """Record a last state that was dropped."""
        self._lost.labels(sink).inc()
