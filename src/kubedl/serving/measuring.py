"""What is known of versions on trial, asked for beside the loop that decides.

Whoever is asked may be slow, while shares have to be taken at once from a version that dies: nobody waits for figures.
What was answered last is at hand, a question is asked again after a while and not before, and an answer that is new
wakes whoever asked.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from kubedl.serving.analysis import Source, UnmeasuredError
from kubedl.serving.queries import Target
from kubedl.serving.rollout import LOOK
from kubedl.serving.verdict import GOOD, PENDING, Bounds, Figures, Verdict, judge
from kubedl.wire.meta import Key

PACE = LOOK * 0.9  # timers are not exact, and a look that comes a little early would be one for nothing
STALE = timedelta(seconds=10)  # an answer may take half of that, and its version may have changed since
AT_ONCE = 8  # questions
NOBODY = Verdict("Unknown", "NoMetrics", "the operator has no metrics: set its --prometheus or --gateway-metrics")

log = structlog.get_logger()


@dataclass
class _Known:
    """Of one version, since one moment."""

    since: datetime
    asked: datetime | None = None
    said: Figures | str = ""  # figures, or why there are none
    said_at: datetime | None = None  # to a question of that moment; None before the first answer
    task: asyncio.Task[None] | None = None


class Measurements:
    """For one controller. It begins anew with the operator: what a rollout has come to is in the status."""

    def __init__(self, source: Source | None, wake: Callable[[Key], None]) -> None:
        self.source = source
        self._wake = wake
        self._known: dict[Key, dict[Target, _Known]] = {}
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        """Until told to stop; then nothing is asked any more."""
        try:
            await asyncio.Event().wait()
        finally:
            for key in list(self._known):
                self.keep(key, ())

    def verdict(self, key: Key, bounds: Bounds | None, target: Target, since: datetime, now: datetime) -> Verdict:
        """What is to be thought of a version of the Inference `key`, as far as is known by now."""
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
        return judge(bounds, known.said) if isinstance(known.said, Figures) else _unknown(known.said)

    def keep(self, key: Key, targets: Collection[Target]) -> None:
        """These versions of an Inference are on trial; what is known of others is forgotten."""
        found = self._known.get(key, {})
        for target in [one for one in found if one not in targets]:
            _stop(found.pop(target))
            if self.source is not None:
                self.source.forget(target)
        if not found:
            self._known.pop(key, None)

    async def _ask(self, source: Source, key: Key, target: Target, known: _Known) -> None:
        said: Figures | str
        moment = known.asked or known.since
        try:
            async with self._turn:
                said = await source.figures(target, known.since, moment)
        except UnmeasuredError as error:
            said = str(error)
        except Exception:
            log.exception("measuring failed", inference=str(key), service=target.service)
            said = "measuring failed"
        is_news = said != known.said or known.said_at is None or moment - known.said_at > STALE
        known.task, known.said, known.said_at = None, said, moment
        if is_news:
            self._wake(key)


def _unknown(why: str) -> Verdict:
    return Verdict("Unknown", "NoMetrics", why)


def _stop(known: _Known | None) -> None:
    if known is not None and known.task is not None:
        known.task.cancel()
