"""What the console sends about costs."""

from collections.abc import Sequence

from kubedl.console.wire_base import Wire


class Money(Wire, frozen=True):
    """An amount of one currency."""

    currency: str  # as the price book names it
    micros: int  # millionths


class Waste(Wire, frozen=True):
    """How long jobs waited, and which time of their pods had no result."""

    jobs: int
    waiting_seconds: int
    restarted_seconds: int  # of pods that failed and were replaced
    lost_seconds: int  # of pods that were evicted, preempted or lost with their node


class IdleRow(Wire, frozen=True):
    """How much of the GPU time of a namespace was idle, as far as it was measured."""

    name: str
    measured_seconds: int  # of one GPU
    idle_seconds: int


class IdlePage(Wire, frozen=True):
    """GPUs that pods of namespaces held without using them."""

    problem: str  # why nothing is known; empty otherwise
    rows: Sequence[IdleRow]  # of namespaces whose jobs used something in these days; unmeasured ones are left out


class CostRow(Wire, frozen=True):
    """What a team, a user, a queue or a day has used and spent."""

    name: str  # empty: the jobs do not say
    costs: Sequence[Money]  # one for each currency; empty: there is no price for any of it
    gpu_seconds: int
    cpu_seconds: int
    memory_gib_seconds: int
    unpriced_gpu_seconds: int  # of all these, what has no price
    unpriced_cpu_seconds: int
    waste: Waste | None  # of teams and of the total


class CostPage(Wire, frozen=True):
    """What ended jobs of namespaces that the caller may see have used and spent in some days, dearest first."""

    installed: bool
    days: int
    first: str  # 2026-11-17, in UTC; both days are included
    last: str
    total: CostRow
    teams: Sequence[CostRow]  # of each list at most 100
    users: Sequence[CostRow]
    queues: Sequence[CostRow]
    by_day: Sequence[CostRow]  # in order; a day without any use is left out
    more_teams: int
    more_users: int
    more_queues: int
    hidden_namespaces: int
