"""Requests as a gateway counts them: a Prometheus histogram with the status code as a label. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from prometheus_client.parser import text_string_to_metric_families


@dataclass(frozen=True)
class Counted:
    """All requests of one backend so far."""

    requests: int = 0
    failures: int = 0
    buckets: Mapping[float, float] = field(default_factory=dict)  # requests that took at most so many seconds

    def minus(self, before: "Counted") -> "Counted":
        """What came since then."""
        buckets = {bound: count - before.buckets.get(bound, 0) for bound, count in self.buckets.items()}
        return Counted(self.requests - before.requests, self.failures - before.failures, buckets)


def read(page: str, histogram: str, service: str) -> Counted:
    """What a page of metrics says about a backend; ValueError if it cannot be read."""
    # A page has a line for each bucket of each code of each service, and most are somebody else's.
    mine = [line for line in page.splitlines() if line.startswith(histogram) and f'service="{service}"' in line]
    requests = failures = 0.0
    buckets: dict[float, float] = {}
    for family in text_string_to_metric_families("\n".join((f"# TYPE {histogram} histogram", *mine, ""))):
        for sample in family.samples:
            if sample.labels.get("service") != service:
                continue
            if sample.name == f"{histogram}_count":
                requests += sample.value
                failures += sample.value if sample.labels.get("code", "").startswith("5") else 0
            elif sample.name == f"{histogram}_bucket":
                bound = float(sample.labels["le"])
                buckets[bound] = buckets.get(bound, 0) + sample.value
    return Counted(int(requests), int(failures), buckets)


def quantile(part: float, buckets: Mapping[float, float]) -> float | None:
    """The time within which that part of all requests was answered, as Prometheus estimates it; None of nothing.

    Within a bucket times are taken to be spread evenly. What is slower than the last bound is infinitely slow here,
    since nobody knows better; Prometheus would say that bound.
    """
    bounds = sorted(buckets)
    if len(bounds) < 2 or buckets[bounds[-1]] <= 0:
        return None
    rank = part * buckets[bounds[-1]]
    index = next(number for number, bound in enumerate(bounds) if buckets[bound] >= rank)
    if index == len(bounds) - 1:
        return inf
    below = bounds[index - 1] if index else 0.0
    before = buckets[bounds[index - 1]] if index else 0.0
    inside = buckets[bounds[index]] - before
    return below + (bounds[index] - below) * (rank - before) / inside if inside > 0 else bounds[index]
