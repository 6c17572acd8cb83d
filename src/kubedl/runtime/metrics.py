"""Prometheus metrics of the operator.

Labels have only values known to the code (verbs, resources, status codes, controllers), never object names, so the
number of series does not grow with the cluster. Recording a request costs about two microseconds.
"""

import asyncio
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

LAG_INTERVAL = 0.25  # seconds between measurements of the loop lag
LAG_WINDOW = 30.0  # seconds; the maximum lag is exported for one to two windows, so that no scrape misses it

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """All metrics of one process, in a registry of its own."""

    def __init__(self, leader: str = "leader") -> None:
        """`leader` names the gauge of leadership: alerts must not take another process for an operator."""
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._calls = self._counter("api_calls", "Requests to the API server", "verb", "resource", "outcome")
        self._call_seconds = self._histogram(
            "api_call_seconds", "Seconds from request to response, without watches", "verb"
        )
        self._reconcile_seconds = self._histogram(
            "reconcile_seconds", "Duration of a reconcile in seconds", "controller"
        )
        self._errors = self._counter("reconcile_errors", "Reconciles that failed and will be retried", "controller")
        self._dropped = self._counter("events_dropped", "Events that were not sent")
        self._depth = self._gauge("queue_depth", "Keys that wait for a reconcile", "controller")
        self._age = self._gauge("cache_age_seconds", "Seconds since the watch last received data", "resource")
        self._objects = self._gauge("cache_objects", "Objects in the informer cache", "resource")
        self._informers: dict[str, list[tuple[Callable[[], float], Callable[[], float]]]] = {}
        self._leader = self._gauge(leader, "1 if this process is the leader")
        self._lag = self._histogram("loop_lag_seconds", "Lag of the event loop in seconds")
        self._lag_max = self._gauge(
            "loop_lag_max_seconds", f"Maximum event loop lag of the last {LAG_WINDOW:g} s or more"
        )
        # Looking up a child by labels costs more than counting, and there are few.
        self._call_children: dict[tuple[str, str, str], tuple[Counter, Histogram | None]] = {}

    def observe_request(self, verb: str, resource: str, outcome: str, seconds: float) -> None:
        """Record a request to the API server."""
        if (found := self._call_children.get(labels := (verb, resource, outcome))) is None:
            timer = None if verb == "watch" else self._call_seconds.labels(verb)
            found = self._call_children[labels] = self._calls.labels(*labels), timer
        found[0].inc()
        if found[1] is not None:
            found[1].observe(seconds)

    def reconciled(self, controller: str, seconds: float, error: bool) -> None:
        """Record a reconcile."""
        self._reconcile_seconds.labels(controller).observe(seconds)
        if error:
            self._errors.labels(controller).inc()

    def event_dropped(self) -> None:
        """Record an event that will not be sent."""
        self._dropped.inc()

    def leading(self, leads: bool) -> None:
        """Record that this process became leader or stopped."""
        self._leader.set(leads)

    def add_queue(self, controller: str, depth: Callable[[], float]) -> None:
        """Export a work queue; `depth` is called at each scrape."""
        self._depth.labels(controller).set_function(depth)

    def add_cache(self, resource: str, age: Callable[[], float], objects: Callable[[], float]) -> None:
        """Export a cache; the functions are called at each scrape. Caches of one resource are summed."""
        (known := self._informers.setdefault(resource, [])).append((age, objects))
        self._age.labels(resource).set_function(lambda: max(age() for age, _ in known))
        self._objects.labels(resource).set_function(lambda: sum(objects() for _, objects in known))

    async def watch_loop_lag(self) -> None:
        """Measure the lag of the event loop until cancelled."""
        loop = asyncio.get_running_loop()
        window_ends, before, worst = loop.time() + LAG_WINDOW, 0.0, 0.0
        while True:
            due = loop.time() + LAG_INTERVAL
            await asyncio.sleep(LAG_INTERVAL)
            lag = max(0.0, loop.time() - due)
            self._lag.observe(lag)
            if loop.time() >= window_ends:
                window_ends, before, worst = loop.time() + LAG_WINDOW, worst, 0.0
            worst = max(worst, lag)
            self._lag_max.set(max(before, worst))

    def render(self) -> bytes:
        """Return the metrics page."""
        return generate_latest(self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"kubedl_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"kubedl_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, *labels: str) -> Histogram:
        return Histogram(f"kubedl_{name}", text, labels, registry=self.registry, buckets=_SECONDS)
