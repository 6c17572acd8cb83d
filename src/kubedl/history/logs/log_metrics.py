"""Metrics of the archive of logs. Labels are outcomes, never names of objects."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge

OUTCOMES = ("whole", "cut", "gone", "failed", "dropped")


class LogMetrics:
    """All of them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._logs = Counter(
            "kubedl_recorder_logs",
            "Logs of ended containers: stored whole, stored with the beginning cut, gone before they were read, failed "
            "to be read or refused by the storage, dropped because too many were waiting",
            ("outcome",),
            registry=registry,
        )
        for outcome in OUTCOMES:
            self._logs.labels(outcome)
        self._bytes = Counter(
            "kubedl_recorder_logs_bytes", "Compressed bytes of logs that were stored", registry=registry
        )
        self._failures = Counter(
            "kubedl_recorder_logs_failures",
            "Attempts to store a log that failed and are repeated",
            registry=registry,
        )
        self._waiting = Gauge("kubedl_recorder_logs_pending", "Pods whose logs wait to be stored", registry=registry)
        self._oldest = Gauge(
            "kubedl_recorder_logs_oldest_seconds", "Age of the oldest log that waits to be stored", registry=registry
        )

    def watch(self, waiting: Callable[[], float], oldest: Callable[[], float]) -> None:
        """Export the queue; the functions are called at each scrape."""
        self._waiting.set_function(waiting)
        self._oldest.set_function(oldest)

    def ended(self, outcome: str, size: int = 0) -> None:
        """Count a log."""
        self._logs.labels(outcome).inc()
        self._bytes.inc(size)

    def failed(self) -> None:
        """Count an attempt that failed."""
        self._failures.inc()
