"""What an elastic job paid for, in node-seconds and in money.

Paid time is split into accounts: starting, saving, changing members, lost to reclaims, and useful, which is the rest.
Pods that run have an open entry; closing one removes it and adds to the sums, so that no time is counted twice.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace


class Entry(Struct, frozen=True, gc=False):
    """A pod that is being paid for."""

    pool: str
    hourly: str  # of the node, when the pod was scheduled; empty: the book has no price for it
    on_demand_hourly: str  # of the same node on demand
    share: float  # of the node
    begin: int
    idle_since: int | None  # not a member since; None: a member


class Sum(Struct, frozen=True, gc=False):
    """The closed entries of one pool at one price."""

    pool: str
    hourly: str
    on_demand_hourly: str
    seconds: float


class Ledger(Struct, frozen=True):
    """All accounts, in node-seconds. `open` is by the uid of the pod."""

    open: dict[str, Entry] = {}
    closed: tuple[Sum, ...] = ()
    start: float = 0.0
    save: float = 0.0
    change: float = 0.0
    lost: float = 0.0
    estimated: bool = False  # an end that nobody saw is the time of the first look after it


class Receipt(Struct, frozen=True):
    """A ledger in figures. Money is None where the book had no price."""

    paid: float
    start: float
    save: float
    change: float
    lost: float
    useful: float
    goodput: float
    cost: Decimal | None
    base: Decimal | None  # what full size on on-demand alone would have paid for the same work
    saved: Decimal | None
    saved_by_price: Decimal | None  # the part of it that is only the discount
    estimated: bool


def opened(ledger: Ledger, uid: str, entry: Entry) -> Ledger:
    """Return the ledger with an entry for a pod; one that it has already stays as it is."""
    return ledger if uid in ledger.open else replace(ledger, open={**ledger.open, uid: entry})


def joined(ledger: Ledger, uids: Iterable[str], at: int) -> Ledger:
    """Return the ledger after these pods have become members."""
    entries, start = dict(ledger.open), ledger.start
    for uid in uids:
        entry = entries.get(uid)
        if entry is not None and entry.idle_since is not None:
            start += entry.share * (at - entry.idle_since)
            entries[uid] = replace(entry, idle_since=None)
    return replace(ledger, open=entries, start=start)


def left(ledger: Ledger, uids: Iterable[str], at: int) -> Ledger:
    """Return the ledger after these pods have ceased to be members, whether or not they go on to run."""
    entries = dict(ledger.open)
    for uid in uids:
        if uid in entries and entries[uid].idle_since is None:
            entries[uid] = replace(entries[uid], idle_since=at)
    return replace(ledger, open=entries)


def closed(ledger: Ledger, uid: str, end: int, *, estimated: bool = False) -> Ledger:
    """Return the ledger after a pod has ended; one that has no open entry was counted before."""
    entry = ledger.open.get(uid)
    if entry is None:
        return ledger
    idle = entry.share * (end - entry.idle_since) if entry.idle_since is not None else 0.0
    return replace(
        ledger,
        open={other: kept for other, kept in ledger.open.items() if other != uid},
        closed=_added(ledger.closed, entry, entry.share * (end - entry.begin)),
        start=ledger.start + idle,
        estimated=ledger.estimated or estimated,
    )


def _added(sums: tuple[Sum, ...], entry: Entry, seconds: float) -> tuple[Sum, ...]:
    key = (entry.pool, entry.hourly, entry.on_demand_hourly)
    for index, known in enumerate(sums):
        if (known.pool, known.hourly, known.on_demand_hourly) == key:
            return (*sums[:index], replace(known, seconds=known.seconds + seconds), *sums[index + 1 :])
    return (*sums, Sum(*key, seconds))


def saved_members(ledger: Ledger, members: Sequence[str], seconds: float) -> Ledger:
    """Return the ledger after members have paused for a checkpoint."""
    return replace(ledger, save=ledger.save + weight(ledger, members) * seconds)


def changed_members(ledger: Ledger, members: Sequence[str], seconds: float) -> Ledger:
    """Return the ledger after members have paused because membership changed."""
    return replace(ledger, change=ledger.change + weight(ledger, members) * seconds)


def took_back(ledger: Ledger, members: Sequence[str], progress: float, per_second: float) -> Ledger:
    """Return the ledger after progress was lost that these members had made at this pace."""
    seconds = progress / per_second if per_second > 0 else 0.0
    return replace(ledger, lost=ledger.lost + weight(ledger, members) * seconds)


def weight(ledger: Ledger, members: Iterable[str]) -> float:
    """Return how many nodes these members pay for in each second."""
    return sum(ledger.open[uid].share for uid in members if uid in ledger.open)


def receipt(ledger: Ledger, now: int, *, size: int, kept: float, cold_start: int, on_demand_hourly: str) -> Receipt:
    """Return the figures of a ledger at a time: `kept` is progress, in seconds at full size."""
    for uid in tuple(ledger.open):
        ledger = closed(ledger, uid, now)
    paid = sum(row.seconds for row in ledger.closed)
    useful = paid - ledger.start - ledger.save - ledger.change - ledger.lost
    cost = _cost(ledger.closed, [row.hourly for row in ledger.closed])
    on_demand = _cost(ledger.closed, [row.on_demand_hourly for row in ledger.closed])
    base = _money(size * (kept + cold_start), on_demand_hourly) if on_demand_hourly else None
    return Receipt(
        paid,
        ledger.start,
        ledger.save,
        ledger.change,
        ledger.lost,
        useful,
        useful / paid if paid else 0.0,
        cost,
        base,
        _part_saved(cost, base),
        _part_saved(cost, on_demand),
        ledger.estimated,
    )


def _cost(sums: Sequence[Sum], prices: Sequence[str]) -> Decimal | None:
    if not all(prices):
        return None
    return sum((_money(row.seconds, hourly) for row, hourly in zip(sums, prices, strict=True)), Decimal(0))


def _money(seconds: float, hourly: str) -> Decimal:
    return Decimal(hourly) * Decimal(seconds) / 3600


def _part_saved(cost: Decimal | None, compared: Decimal | None) -> Decimal | None:
    return 1 - cost / compared if cost is not None and compared else None
