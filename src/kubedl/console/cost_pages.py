"""What the API answers about costs, from the receipts of the history.

What has no price is unknown and never nothing: amounts without a price are kept apart from those that have one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from kubedl.console.gpu_use import GpuUse, nobody
from kubedl.console.history_rights import HistoryRights, Sight
from kubedl.console.history_source import History, Range
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError
from kubedl.console.rights import Rights
from kubedl.console.wire_cost import CostPage, CostRow, IdlePage, IdleRow, Money, Waste

if TYPE_CHECKING:
    from kubedl.history.queries.answers import SpendRow, WasteRow

MOST = 100  # rows of a list
RANGES = (7, 30, 90)  # days
DEFAULT = 30
MONTH = "month"  # the calendar month before this one, in UTC
GROUPS = ("team", "user", "queue", "day")


@dataclass
class Sum:
    """Amounts of one group."""

    costs: dict[str, int] = field(default_factory=dict)  # millionths by currency
    gpu: int = 0
    cpu: int = 0
    memory: int = 0
    unpriced_gpu: int = 0
    unpriced_cpu: int = 0

    def add(self, row: "SpendRow") -> None:
        """Add a part, which has a price or has none."""
        self.gpu += row.gpu_seconds
        self.cpu += row.cpu_seconds
        self.memory += row.memory_gib_seconds
        if row.cost_micros > 0:
            self.costs[row.currency] = self.costs.get(row.currency, 0) + row.cost_micros
        else:
            self.unpriced_gpu += row.gpu_seconds
            self.unpriced_cpu += row.cpu_seconds

    def row(self, name: str, waste: Waste | None = None) -> CostRow:
        """Return it under a name."""
        return CostRow(
            name=name,
            costs=[Money(currency=currency, micros=micros) for currency, micros in sorted(self.costs.items())],
            gpu_seconds=self.gpu,
            cpu_seconds=self.cpu,
            memory_gib_seconds=self.memory,
            unpriced_gpu_seconds=self.unpriced_gpu,
            unpriced_cpu_seconds=self.unpriced_cpu,
            waste=waste,
        )


@dataclass(frozen=True)
class CostPages:
    """Answers for one caller at a time."""

    history: History
    rights: Rights
    now: Callable[[], datetime]
    gpu_use: GpuUse = field(default_factory=nobody)

    async def cost(self, caller: Caller, days: str, namespace: str) -> CostPage:
        """Return what was used and spent in the last days, today included, or in the calendar month before this one."""
        within = self._days(days)
        if not self.history.installed:
            return _page(within, {}, (), 0, installed=False)
        reader = self.history.insist()
        sight = await self._sight(caller, within, namespace)
        spent = await reader.spent(sight.allowed, within, GROUPS, namespace)
        return _page(within, spent.groups, spent.waste, sight.hidden_namespaces, installed=True)

    async def idle(self, caller: Caller, days: str, namespace: str) -> IdlePage:
        """Return how much of their GPU time the namespaces of the page of costs have not used."""
        within = self._days(days)
        if not self.history.installed:
            return IdlePage(problem="this console has no history", rows=())
        names = await self._seen(caller, within, namespace)
        began = datetime.combine(within.first, time(), UTC)
        ended = datetime.combine(within.last + timedelta(days=1), time(), UTC)
        now = self.now().replace(minute=0, second=0, microsecond=0)  # so that one answer is used by many
        uses = await self.gpu_use.between(began, min(ended, now))
        if isinstance(uses, str):
            return IdlePage(problem=uses, rows=())
        rows = [
            IdleRow(name=name, measured_seconds=uses[name].measured, idle_seconds=uses[name].idle)
            for name in sorted(names & uses.keys())
        ]
        return IdlePage(problem="" if uses else "no use of GPUs is measured there", rows=rows)

    def _days(self, days: str) -> Range:
        return _range(days, self.now().astimezone(UTC).date())

    async def _sight(self, caller: Caller, within: Range, namespace: str) -> Sight:
        """Return what a person may see."""
        asked = HistoryRights(self.rights)
        if namespace:
            return await asked.within(caller, namespace)
        return await asked.everywhere(caller, await self.history.insist().places_of_receipts(within))

    async def _seen(self, caller: Caller, within: Range, namespace: str) -> set[str]:
        """Return in which namespaces something is recorded that a person may see."""
        sight = await self._sight(caller, within, namespace)
        seen: set[str] = set()
        for kind, names in (await self.history.insist().places_of_receipts(within)).items():
            allowed = sight.allowed.get(kind, frozenset())
            seen |= names if allowed is None else names & allowed
        return seen


def _range(days: str, today: date) -> Range:
    """Return the days of a range. Raises RefusalError."""
    if days == MONTH:
        last = today.replace(day=1) - timedelta(days=1)
        return Range(last.replace(day=1), last)
    if days and days not in {str(known) for known in RANGES}:
        known = ", ".join(str(one) for one in RANGES)
        why = f"there are ranges of {known} days, and {MONTH}, which is the one before this"
        raise RefusalError(400, f"no range of {days} days", why, "Choose one.")
    return Range(today - timedelta(days=int(days or DEFAULT) - 1), today)


def _page(
    within: Range,
    groups: "Mapping[str, Sequence[SpendRow]]",
    waste: "Sequence[WasteRow]",
    hidden: int,
    *,
    installed: bool,
) -> CostPage:
    by_day, total = _sums(groups.get("day", ())), Sum()
    for row in groups.get("day", ()):
        total.add(row)
    wasted = {row.team: _waste([row]) for row in waste}
    teams = [one.row(name, wasted.get(name)) for name, one in _dearest(_sums(groups.get("team", ())))]
    users, queues = (
        [one.row(name) for name, one in _dearest(_sums(groups.get(group, ())))] for group in ("user", "queue")
    )
    return CostPage(
        installed=installed,
        days=(within.last - within.first).days + 1,
        first=within.first.isoformat(),
        last=within.last.isoformat(),
        total=total.row("", _waste(waste)),
        teams=teams[:MOST],
        users=users[:MOST],
        queues=queues[:MOST],
        by_day=[one.row(name) for name, one in sorted(by_day.items())],
        more_teams=max(0, len(teams) - MOST),
        more_users=max(0, len(users) - MOST),
        more_queues=max(0, len(queues) - MOST),
        hidden_namespaces=hidden,
    )


def _sums(rows: "Iterable[SpendRow]") -> dict[str, Sum]:
    found: dict[str, Sum] = {}
    for row in rows:
        found.setdefault(row.group[0], Sum()).add(row)
    return found


def _dearest(found: dict[str, Sum]) -> list[tuple[str, Sum]]:
    """Return groups by cost, then by what they used. Two currencies cannot be compared: the larger figure counts."""
    return sorted(
        found.items(), key=lambda one: (-max(one[1].costs.values(), default=0), -one[1].gpu, -one[1].cpu, one[0])
    )


def _waste(rows: "Iterable[WasteRow]") -> Waste:
    jobs = waiting = restarted = lost = 0
    for row in rows:
        jobs, waiting = jobs + row.jobs, waiting + row.waiting_seconds
        restarted, lost = restarted + row.restarted_seconds, lost + row.lost_seconds
    return Waste(jobs=jobs, waiting_seconds=waiting, restarted_seconds=restarted, lost_seconds=lost)
