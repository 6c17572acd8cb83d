"""The world around an elastic job, in virtual time: a market, nodes that start and are taken, a program that trains.

It keeps accounts of its own, second by second, to which the job's ledger is compared.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from harness.spot_replay.traces import NEVER, Change
from kubedl.training.elastic.status import Seen, SeenPod


@dataclass(frozen=True)
class Truth:
    """How things really are, whatever the job was told."""

    size: int
    min_size: int
    work: float
    cold_start: int
    checkpoint: int
    changeover: int
    notice: int
    slowness: float = 1.0  # how much longer the work takes than promised
    shorter_notice: int | None = None  # announced so late, with the usual promise
    missing: float = 0.0  # part of the reclaims that are not announced
    false: float = 0.0  # part of the spot pods that get a notice and are not taken


@dataclass
class Pod:
    """A pod with its node."""

    uid: str
    spot: bool
    begin: int
    ready: int
    told: int | None = None  # when its notice is seen
    promised: int | None = None  # when the node is to be taken, by the notice
    gone: int = NEVER  # when it really is


@dataclass
class Accounts:
    """Node-seconds, as the world saw them."""

    spot: int = 0
    on_demand: int = 0
    start: int = 0
    save: int = 0
    change: int = 0
    lost: int = 0
    useful: int = 0

    def paid(self) -> int:
        """All node-seconds."""
        return self.spot + self.on_demand


@dataclass
class World:
    """The state of everything that is not the operator."""

    truth: Truth
    market: Iterator[Change]  # capacity that is not about to go
    drawn: random.Random
    now: int = 0
    capacity: int = 0
    next_change: Change = (0, 0)
    pods: dict[str, Pod] = field(default_factory=dict)
    members: tuple[str, ...] = ()
    progress: float = 0.0
    durable: float = 0.0
    saving: int | None = None  # until
    changing: int | None = None  # until
    changes: int = 0
    asked: int = 0
    confirmed: int = 0
    unsaved: int = 0
    made: int = 0
    began: bool = False
    accounts: Accounts = field(default_factory=Accounts)

    def __post_init__(self) -> None:
        """Look at the market for the first time."""
        self.capacity = next(self.market)[1]
        self.next_change = next(self.market)

    @property
    def training(self) -> bool:
        """Whether progress is being made."""
        return bool(self.members) and self.saving is None and self.changing is None

    @property
    def done(self) -> bool:
        """Whether all work is done."""
        return self.progress >= self.truth.work - 1e-6

    def next_event(self) -> int:
        """When something happens by itself."""
        soon = min(self.next_change[0], self.saving or NEVER, self.changing or NEVER)
        for pod in self.pods.values():
            soon = min(soon, pod.gone)
            if pod.ready > self.now:
                soon = min(soon, pod.ready)
            if pod.told is not None and pod.told > self.now:
                soon = min(soon, pod.told)
        if self.training:
            left = (self.truth.work - self.progress) * self.truth.slowness * self.truth.size / len(self.members)
            soon = min(soon, self.now + max(-int(-(left - 1e-6) // 1), 1))
        return soon

    def advance(self, until: int) -> None:
        """Let time pass, and do what happens then."""
        self._pass(until - self.now)
        self.now = until
        if self.saving is not None and self.saving <= until:
            self.saving, self.confirmed, self.durable, self.unsaved = None, self.asked, self.progress, 0
        if self.changing is not None and self.changing <= until:
            self.changing = None
        for pod in [pod for pod in self.pods.values() if pod.gone <= until]:
            self._take(pod)
        while self.next_change[0] <= until:
            self.capacity = self.next_change[1]
            self.next_change = next(self.market)
            self._reclaim()

    def _pass(self, seconds: int) -> None:
        accounts, members = self.accounts, len(self.members)
        spot = sum(pod.spot for pod in self.pods.values())
        accounts.spot += spot * seconds
        accounts.on_demand += (len(self.pods) - spot) * seconds
        accounts.start += (len(self.pods) - members) * seconds
        if self.saving is not None:
            accounts.save += members * seconds
        elif self.changing is not None:
            accounts.change += members * seconds
        elif members:
            self.progress += seconds * members / self.truth.size / self.truth.slowness
            self.unsaved += members * seconds
            accounts.useful += members * seconds

    def _held(self) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.spot and pod.gone == NEVER]

    def _reclaim(self) -> None:
        """Choose whose nodes go: members first, which is the harder case."""
        held = self._held()
        surplus = len(held) - self.capacity
        if surplus <= 0:
            return
        held.sort(key=lambda pod: (pod.uid not in self.members, pod.begin, pod.uid))
        for pod in held[:surplus]:
            pod.gone = self.now + self.truth.notice
            if self._leaves(pod):
                continue  # a notice that was false has come true
            pod.told = pod.promised = None  # a false notice that nobody has seen yet must not hide the true one
            if self.truth.missing and self.drawn.random() < self.truth.missing:
                continue
            warning = self.truth.notice if self.truth.shorter_notice is None else self.truth.shorter_notice
            pod.told = pod.gone - min(warning, self.truth.notice)
            pod.promised = pod.told + self.truth.notice

    def _take(self, pod: Pod) -> None:
        del self.pods[pod.uid]
        if pod.uid not in self.members:
            return
        self.members = tuple(uid for uid in self.members if uid != pod.uid)
        self.accounts.lost += self.unsaved
        self.accounts.useful -= self.unsaved
        self.progress, self.unsaved, self.saving = self.durable, 0, None
        self.asked = self.confirmed
        self.changing = self.now + self.truth.changeover if self.members else None

    def seen(self) -> Seen:
        """What an operator sees now."""
        now = self.now
        pods = tuple(
            SeenPod(
                pod.uid,
                pod.spot,
                pod.begin,
                pod.ready if pod.ready <= now else None,
                pod.promised if self._leaves(pod) else None,
            )
            for pod in self.pods.values()
        )
        return Seen(now, pods, self.durable, self.progress, self.confirmed, self.changes, self.training)

    def set_members(self, members: tuple[str, ...], changes: int) -> None:
        """Let these train, after a changeover; the first start of the job is none."""
        self.changes = changes
        if members == self.members:
            return
        self.members = members
        self.saving = None
        self.changing = self.now + self.truth.changeover if members and self.began else None
        self.began = self.began or bool(members)

    def ask(self, number: int) -> None:
        """Ask for a checkpoint; the same number twice is one."""
        if number > self.asked and self.members:
            self.asked, self.saving = number, self.now + self.truth.checkpoint

    def delete(self, uid: str) -> None:
        """Delete a pod that is no member."""
        self.pods.pop(uid, None)

    def want(self, spot: int, on_demand: int) -> None:
        """Have so many pods: on-demand is always there, spot as far as the market gives it.

        While nobody trains who stays, spot pods get nodes only if the minimum can be had, as with gang scheduling.
        """
        own = [pod for pod in self.pods.values() if not pod.spot]
        for _ in range(on_demand - len(own)):
            self._make(spot=False)
        held = len(self._held())
        more = min(self.capacity - held, spot - sum(pod.spot and not self._leaves(pod) for pod in self.pods.values()))
        train = any(not self._leaves(self.pods[uid]) for uid in self.members)
        if more <= 0 or (not train and held + more + max(on_demand, len(own)) < self.truth.min_size):
            return
        for _ in range(more):
            self._make(spot=True)

    def _leaves(self, pod: Pod) -> bool:
        """Whether its notice was seen."""
        return pod.told is not None and pod.told <= self.now

    def _make(self, *, spot: bool) -> None:
        self.made += 1
        pod = Pod(f"{self.made:05d}", spot, self.now, self.now + self.truth.cold_start)
        if spot and self.truth.false and self.drawn.random() < self.truth.false:
            pod.told = self.now + self.drawn.randrange(1, 4 * 3600)
            pod.promised = pod.told + self.truth.notice
        self.pods[pod.uid] = pod
