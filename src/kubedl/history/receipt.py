"""Receipts: what a job requested, where and for how long, and what that cost. Pure.

A pod uses what it requests from the moment it is bound to a node until it ends, whether it needs it or not: nobody else
can have it meanwhile. Amounts are split by UTC day and by node pool.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kubedl.history.price_book import NodeLabels, PriceBook

GIB = 1 << 30
NO_LABELS = NodeLabels()
MICROS = 1_000_000  # costs are kept in millionths of the currency, so that sums are exact


@dataclass(frozen=True)
class PodUsage:
    """A pod, as far as it costs something."""

    role: str
    index: int
    created: datetime
    bound: datetime | None  # to its node
    ended: datetime | None
    phase: str = ""
    disrupted: bool = False
    cpu_millis: int = 0
    memory_bytes: int = 0
    gpus: int = 0
    node: NodeLabels = NO_LABELS

    def seconds(self, now: datetime) -> float:
        """Return how long it was bound to its node."""
        if self.bound is None:
            return 0.0
        return max(0.0, ((self.ended or now) - self.bound).total_seconds())


@dataclass(frozen=True)
class ReceiptLine:
    """The amounts of one day in one pool."""

    day: str
    pool: str
    spot: bool
    cpu_seconds: int = 0
    memory_gib_seconds: int = 0
    gpu_seconds: int = 0
    cost_micros: int = 0


@dataclass(frozen=True)
class Receipt:
    """The amounts of a job."""

    waiting_seconds: int  # from its creation until the first pod was bound to a node
    running_seconds: int  # from then until its end
    restarted_seconds: int  # of pods that failed and were replaced
    lost_seconds: int  # of pods that were evicted, preempted or lost with their node
    lines: tuple[ReceiptLine, ...] = ()
    currency: str = ""
    price_book: str = ""


@dataclass
class _Amounts:
    cpu: float = 0.0
    memory: float = 0.0
    gpu: float = 0.0
    cost: float = 0.0


def receipt(
    created: datetime, ended: datetime | None, pods: Sequence[PodUsage], book: PriceBook, now: datetime
) -> Receipt:
    """Return the receipt of a job; of one that has not ended, what it amounts to now."""
    end = ended or now
    first = min((pod.bound for pod in pods if pod.bound is not None), default=None)
    last = {(pod.role, pod.index): pod.created for pod in sorted(pods, key=lambda pod: pod.created)}
    lost = sum(pod.seconds(now) for pod in pods if pod.disrupted)
    replaced = [pod for pod in pods if pod.created != last[pod.role, pod.index] and not pod.disrupted]
    return Receipt(
        waiting_seconds=_whole(((first or end) - created).total_seconds()),
        running_seconds=_whole((end - first).total_seconds()) if first is not None else 0,
        restarted_seconds=_whole(sum(pod.seconds(now) for pod in replaced)),
        lost_seconds=_whole(lost),
        lines=tuple(_lines(pods, book, now)),
        currency=book.currency,
        price_book=book.version,
    )


def _lines(pods: Iterable[PodUsage], book: PriceBook, now: datetime) -> Iterator[ReceiptLine]:
    sums: dict[tuple[str, str, bool], _Amounts] = defaultdict(_Amounts)
    for pod in pods:
        entry = book.entry(pod.node)
        for day, seconds in _days(pod.bound, pod.ended or now):
            amounts = sums[day, pod.node.pool, pod.node.spot]
            cpu, memory, gpu = pod.cpu_millis / 1000 * seconds, pod.memory_bytes / GIB * seconds, pod.gpus * seconds
            amounts.cpu, amounts.memory, amounts.gpu = amounts.cpu + cpu, amounts.memory + memory, amounts.gpu + gpu
            if entry is not None:
                hourly = cpu * entry.cpu_hour + memory * entry.memory_gib_hour + gpu * entry.gpu_hour
                amounts.cost += hourly / 3600
    for (day, pool, spot), amounts in sorted(sums.items()):
        yield ReceiptLine(
            day,
            pool,
            spot,
            _whole(amounts.cpu),
            _whole(amounts.memory),
            _whole(amounts.gpu),
            round(amounts.cost * MICROS),
        )


def _days(start: datetime | None, end: datetime) -> Iterator[tuple[str, float]]:
    """Yield the days of an interval, each with its seconds."""
    moment = start.astimezone(UTC) if start is not None else end
    while moment < end:
        midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        until = min(midnight, end.astimezone(UTC))
        yield f"{moment:%Y-%m-%d}", (until - moment).total_seconds()
        moment = until


def _whole(seconds: float) -> int:
    return max(0, round(seconds))
