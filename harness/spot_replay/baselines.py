"""Policies to compare with, for a job that trains at full size or not at all.

Spot with restart, greedy, and Uniform Progress of Wu et al., Can't Be Late (NSDI 2024), with and without a checkpoint
at the notice. All but the first keep the deadline by a guard: on-demand until the end as soon as slack is short.
"""

from dataclasses import dataclass
from enum import StrEnum

from harness.spot_replay.traces import NEVER, Trace

LONGEST = 40  # times the work: then spot with restart is given up and finished on on-demand
WORTH_SAVING = 300  # seconds of progress


class Pool(StrEnum):
    """Where a job is."""

    NONE = "none"
    SPOT = "spot"
    ON_DEMAND = "on-demand"


class Policy(StrEnum):
    """Who decides."""

    RESTART = "spot, restart"
    GREEDY = "greedy"
    UNIFORM = "uniform"


@dataclass(frozen=True)
class GangJob:
    """A job of a fixed size."""

    size: int
    work: int
    deadline: int
    cold_start: int
    checkpoint: int
    interval: int  # between checkpoints on spot
    notice: int = 0  # 0: nodes go without one


@dataclass
class GangRun:
    """A run, and what it paid in node-seconds."""

    job: GangJob
    policy: Policy
    pool: Pool = Pool.NONE
    now: int = 0
    ready_at: int = 0
    progress: float = 0.0
    durable: float = 0.0
    saved_at: int = 0
    guarded: bool = False
    spot: int = 0
    on_demand: int = 0
    useful_on_demand: float = 0.0

    def goodput(self) -> float:
        """The useful part of what was paid."""
        return self.job.work * self.job.size / (self.spot + self.on_demand)

    def play(self, trace: Trace, start: int) -> "GangRun":
        """Run until the work is done."""
        market = trace.announced(self.job.notice).from_second(start)
        capacity, upcoming = next(market)[1], next(market)
        while self.progress < self.job.work:
            while upcoming[0] <= self.now:
                capacity, upcoming = upcoming[1], next(market)
            available = capacity >= self.job.size
            if self.pool is Pool.SPOT and not available:
                self._reclaimed()
            wanted = self._wanted(available=available)
            if wanted is not self.pool:
                self._switch(wanted, upcoming[0])
            elif self._saves():
                self._save(upcoming[0])
            else:
                self._advance(min(upcoming[0], self._next_look()))
        return self

    def _pay(self, seconds: int) -> None:
        if self.pool is Pool.SPOT:
            self.spot += seconds * self.job.size
        elif self.pool is Pool.ON_DEMAND:
            self.on_demand += seconds * self.job.size
        self.now += seconds

    def _reclaimed(self) -> None:
        if self.job.notice and self.progress > self.durable:
            self._pay(self.job.checkpoint)
            self.durable = self.progress
        self.progress, self.pool = self.durable, Pool.NONE

    def _save(self, next_change: int) -> None:
        """Pause for a checkpoint; a node that goes meanwhile takes it along."""
        lost = self.pool is Pool.SPOT and not self.job.notice and next_change < self.now + self.job.checkpoint
        self._pay(next_change - self.now if lost else self.job.checkpoint)
        if not lost:
            self.durable, self.saved_at = self.progress, self.now

    def _switch(self, wanted: Pool, next_change: int) -> None:
        if self.progress > self.durable:
            self._save(next_change)
        self.progress, self.pool = self.durable, wanted
        self.ready_at = self.saved_at = self.now + self.job.cold_start

    def _advance(self, until: int) -> None:
        training = self.pool is not Pool.NONE and self.ready_at <= self.now
        if self.pool is not Pool.NONE and not training:
            until = min(until, self.ready_at)
        if training:
            until = min(until, self.now + max(int(self.job.work - self.progress), 1))
            if self.pool is Pool.SPOT:
                until = min(until, max(self.saved_at + self.job.interval, self.now + 1))
        seconds = max(until - self.now, 1)
        self._pay(seconds)
        if training:
            self.progress += seconds
            self.useful_on_demand += seconds if self.pool is Pool.ON_DEMAND else 0

    def _slack(self) -> float:
        secured = self.progress if self.job.notice or self.pool is Pool.ON_DEMAND else self.durable
        return self.job.deadline - self.now - (self.job.work - secured)

    def _guard(self) -> int:
        if self.pool is Pool.NONE:
            return 2 * self.job.cold_start
        return self.job.cold_start + 2 * self.job.checkpoint

    def _saves(self) -> bool:
        if self.pool is not Pool.SPOT or self.ready_at > self.now or self.progress <= self.durable:
            return False
        due = self.now >= self.saved_at + self.job.interval
        short = self.policy is not Policy.RESTART and self._slack() <= self._guard() + 2 * self.job.checkpoint
        return due or (short and self.progress - self.durable >= WORTH_SAVING)

    def _wanted(self, *, available: bool) -> Pool:
        if self.policy is Policy.RESTART:
            if self.now >= LONGEST * self.job.work:
                return Pool.ON_DEMAND
            return Pool.SPOT if available else Pool.NONE
        if self.pool is not Pool.ON_DEMAND and self._slack() <= self._guard() and not self._saves():
            self.guarded = True
        if self.guarded:
            return Pool.ON_DEMAND
        if self.policy is Policy.UNIFORM and self.pool is Pool.ON_DEMAND and (not available or self._ahead_in() > 0):
            return Pool.ON_DEMAND
        if available:
            return Pool.SPOT
        behind = self.policy is Policy.UNIFORM and self.progress < self._expected(self.now)
        return Pool.ON_DEMAND if behind else Pool.NONE

    def _expected(self, at: float) -> float:
        return at * self.job.work / self.job.deadline

    def _ahead_in(self) -> float:
        """Seconds of on-demand until progress is two cold starts ahead of the expected one."""
        head_start = self._expected(self.now + 2 * self.job.cold_start) - self.progress
        return max(self.ready_at - self.now, 0) + head_start / (1 - self.job.work / self.job.deadline)

    def _next_look(self) -> int:
        looks = [float(NEVER)]
        if self.policy is not Policy.RESTART and self.pool is not Pool.ON_DEMAND:
            looks.append(self._slack() - self._guard())
            looks.append(self._slack() - self._guard() - 2 * self.job.checkpoint)
        if self.policy is Policy.UNIFORM and self.pool is Pool.ON_DEMAND and not self.guarded:
            looks.append(self._ahead_in())
        if self.policy is Policy.UNIFORM and self.pool is Pool.NONE:
            looks.append(self.progress * self.job.deadline / self.job.work - self.now)
        return self.now + int(min(look for look in looks if look >= 0)) + 1
