"""Fetches the metrics of canaries in the background.

A metrics source may be slow, while traffic must be shifted at once from a failing canary, so the controller never waits
for metrics. It uses the last result; queries are repeated periodically, and a new result enqueues the Inference.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

import structlog

from kubedl.kube.types.meta import ObjectKey
from kubedl.serving.rollout.analysis import GOOD, PENDING, AnalysisResult, Metrics, Thresholds, evaluate
from kubedl.serving.rollout.prometheus import MetricsSource, MetricsUnavailableError
from kubedl.serving.rollout.promql import Target
from kubedl.serving.rollout.state_machine import LOOK

PACE = LOOK * 0.9  # timers are not exact, and a slightly early reconcile would be wasted
STALE = timedelta(seconds=10)  # half of it may pass until the response, and the canary may have changed
AT_ONCE = 8  # concurrent queries
NOBODY = AnalysisResult("Unknown", "NoMetrics", "the operator has no metrics: set its --prometheus")

log = structlog.get_logger()


@dataclass
class _Known:
    """The canary and the start of its step."""

    since: datetime
    asked: datetime | None = None
    said: Metrics | str = ""  # metrics, or why there are none
    said_at: datetime | None = None  # time of the query; None before the first result
    task: asyncio.Task[None] | None = None


class AnalysisRunner:
    """The runner of one controller. It keeps nothing over a restart: the state of rollouts is in the status."""

    def __init__(self, source: MetricsSource | None, wake: Callable[[ObjectKey], None]) -> None:
        self.source = source
        self._wake = wake
        self._known: dict[ObjectKey, dict[Target, _Known]] = {}
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        """Run until cancelled; then no more queries are sent."""
        try:
            await asyncio.Event().wait()
        finally:
            for key in list(self._known):
                self.keep(key, ())

    def result(
        self, key: ObjectKey, bounds: Thresholds | None, target: Target, since: datetime, now: datetime
    ) -> AnalysisResult:
        """Return the last known result for a canary of the Inference `key`."""
        if bounds is None:
            return GOOD
        if self.source is None:
            return NOBODY
        targets = self._known.setdefault(key, {})
        known = targets.get(target)
        if known is None or known.since != since:
            _stop(known)
            known = targets[target] = _Known(since)
        if known.task is None and (known.asked is None or not timedelta() <= now - known.asked < PACE):
            known.asked = now
            known.task = asyncio.create_task(self._ask(self.source, key, target, known))
        if known.said_at is None or now - known.said_at > STALE:
            return PENDING
        return evaluate(bounds, known.said) if isinstance(known.said, Metrics) else _unknown(known.said)

    def keep(self, key: ObjectKey, targets: Collection[Target]) -> None:
        """Set the canaries of an Inference; results of others are dropped."""
        found = self._known.get(key, {})
        for target in [one for one in found if one not in targets]:
            _stop(found.pop(target))
        if not found:
            self._known.pop(key, None)

    async def _ask(self, source: MetricsSource, key: ObjectKey, target: Target, known: _Known) -> None:
        said: Metrics | str
        moment = known.asked or known.since
        is_queued, began = self._turn.locked(), monotonic()
        try:
            async with self._turn:
                if is_queued:  # otherwise an answer would be stale after a long wait, and never count
                    moment += timedelta(seconds=monotonic() - began)
                said = await source.metrics(target, known.since, moment)
        except MetricsUnavailableError as error:
            said = str(error)
        except Exception:
            log.exception("metrics query failed", inference=str(key), service=target.service)
            said = "metrics query failed"
        is_news = said != known.said or known.said_at is None or moment - known.said_at > STALE
        known.task, known.said, known.said_at = None, said, moment
        if is_news:
            self._wake(key)


def _unknown(why: str) -> AnalysisResult:
    return AnalysisResult("Unknown", "NoMetrics", why)


def _stop(known: _Known | None) -> None:
    if known is not None and known.task is not None:
        known.task.cancel()
