"""What the operator tells Prometheus about itself.

Labels take only values that the code knows (verbs, resources, status codes, controllers), never names of objects, so
the number of series does not grow with the cluster. Counting a call costs about two microseconds.
"""

import asyncio
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

LAG_INTERVAL = 0.25  # seconds between two looks at the loop
LAG_WINDOW = 30.0  # seconds; the worst lag is shown for one to two of these, so that no scrape misses it

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """All of one process's metrics, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._calls = self._counter("api_calls", "Calls to the API server", "verb", "resource", "outcome")
        self._call_seconds = self._histogram("api_call_seconds", "Seconds from call to answer, watches aside", "verb")
        self._reconcile_seconds = self._histogram("reconcile_seconds", "Seconds of one reconcile", "controller")
        self._errors = self._counter("reconcile_errors", "Reconciles that failed and are tried again", "controller")
        self._dropped = self._counter("events_dropped", "Events for users that were not sent")
        self._depth = self._gauge("queue_depth", "Keys that wait for a reconcile", "controller")
        self._age = self._gauge("cache_age_seconds", "Seconds since the watch last gave a sign of life", "resource")
        self._objects = self._gauge("cache_objects", "Objects in the cache", "resource")
        self._caches: dict[str, list[tuple[Callable[[], float], Callable[[], float]]]] = {}
        self._leader = self._gauge("leader", "1 in the process that leads")
        self._lag = self._histogram("loop_lag_seconds", "Seconds by which the event loop was late")
        self._lag_max = self._gauge("loop_lag_max_seconds", f"The worst lag of the last {LAG_WINDOW:g} s or more")
        # Finding a child by its labels costs more than counting, and there are few of them.
        self._call_children: dict[tuple[str, str, str], tuple[Counter, Histogram | None]] = {}

    def made(self, verb: str, resource: str, outcome: str, seconds: float) -> None:
        """A call to the API server ended."""
        if (found := self._call_children.get(labels := (verb, resource, outcome))) is None:
            timer = None if verb == "watch" else self._call_seconds.labels(verb)
            found = self._call_children[labels] = self._calls.labels(*labels), timer
        found[0].inc()
        if found[1] is not None:
            found[1].observe(seconds)

    def reconciled(self, controller: str, seconds: float, error: bool) -> None:
        """A reconcile ended."""
        self._reconcile_seconds.labels(controller).observe(seconds)
        if error:
            self._errors.labels(controller).inc()

    def event_dropped(self) -> None:
        """An event for users will not be sent."""
        self._dropped.inc()

    def leading(self, leads: bool) -> None:
        """This process began or ceased to lead."""
        self._leader.set(leads)

    def add_queue(self, controller: str, depth: Callable[[], float]) -> None:
        """Show a queue; `depth` is asked at each scrape."""
        self._depth.labels(controller).set_function(depth)

    def add_cache(self, resource: str, age: Callable[[], float], objects: Callable[[], float]) -> None:
        """Show a cache; both are asked at each scrape. Several of one resource add up, and the oldest gives the age."""
        (known := self._caches.setdefault(resource, [])).append((age, objects))
        self._age.labels(resource).set_function(lambda: max(age() for age, _ in known))
        self._objects.labels(resource).set_function(lambda: sum(objects() for _, objects in known))

    async def watch_loop_lag(self) -> None:
        """Measure, until cancelled, how late the loop is."""
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
        """The page that Prometheus reads."""
        return generate_latest(self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"kubedl_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"kubedl_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str, *labels: str) -> Histogram:
        return Histogram(f"kubedl_{name}", text, labels, registry=self.registry, buckets=_SECONDS)
