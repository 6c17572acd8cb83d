"""What a Prometheus says about the services of the sample, for tests that look at pages."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from kubedl.console.measuring import Measuring
from kubedl.serving.rollout.analysis import WINDOW, Metrics
from kubedl.serving.rollout.promql import Target
from tests.unit.console.world import World

KNOWN = {  # requests in a second, how many of a thousand fail, p99; of any other Service nothing was counted
    "support-chat-main": (159.0, 1.9, 1180),
    "support-chat-main-next": (53.0, 2.6, 1640),
    "image-tag-a": (96.0, 0.0, 88),
    "image-tag-b": (0.0, 0.0, 0),
}


@dataclass(frozen=True)
class Sampled:
    """A Prometheus that has counted the same for ever."""

    async def metrics(self, target: Target, since: datetime, now: datetime) -> Metrics:
        """Answer by the name of the Service."""
        if target.service not in KNOWN:
            return Metrics(0, 0, counted=False)
        rate, failed, p99 = KNOWN[target.service]
        requests = round(rate * (now - since).total_seconds())
        latency = timedelta(milliseconds=p99) if requests else None
        recent = await self.metrics(target, now - WINDOW, now) if now - since > WINDOW else None
        return Metrics(requests, round(requests * failed / 1000), latency, recent)


def put_metrics(world: World) -> None:
    """Let the console have this Prometheus."""
    measuring = Measuring(partial(datetime.now, UTC), world.clock, Sampled(), "", by_backend=True)
    world.pages = replace(world.pages, measuring=measuring)
