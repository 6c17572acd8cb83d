"""An elastic job on a recorded market: exactly `kubedl.training.elastic.step`, with the status as its only memory."""

import random
from dataclasses import dataclass

import msgspec

from harness.spot_replay.traces import NEVER, Trace
from harness.spot_replay.world import Accounts, Truth, World
from kubedl.training.elastic import ledger as books
from kubedl.training.elastic.status import ElasticStatus
from kubedl.training.elastic.step import Step, step
from kubedl.training.elastic.terms import ConditionType, Terms

MOST_STEPS = 50  # at one moment, until nothing is left to be done


@dataclass(frozen=True)
class Run:
    """How a job ended."""

    end: int
    spot: int  # node-seconds
    on_demand: int
    accounts: Accounts
    status: ElasticStatus
    risk_at: int | None  # since when the deadline was said to be at risk, without interruption
    decisions: tuple[bytes, ...]  # one per event, when nothing was left to be done
    events: int


@dataclass(frozen=True)
class Kill:
    """The operator dies at an event, before it has written the status or after it, and another one is started."""

    event: int
    written: bool


@dataclass
class Replay:
    """One job."""

    terms: Terms
    world: World
    kill: Kill | None = None
    record: bool = False

    def run(self) -> Run:
        """Play until the work is done."""
        status, events, decisions = ElasticStatus(at=0), 0, list[bytes]()
        risk_at: int | None = None
        while not self.world.done:
            events += 1
            taken = self._moment(status, self.kill if self.kill and self.kill.event == events else None)
            status = taken.status
            if self.record:
                decisions.append(msgspec.json.encode((self.world.now, taken.decision)))
            at_risk = ConditionType.DEADLINE_AT_RISK in taken.decision.conditions
            risk_at = (self.world.now if risk_at is None else risk_at) if at_risk else None
            self.world.advance(min(self.world.next_event(), taken.next_look or NEVER))
        return self._end(status, risk_at, decisions, events)

    def _moment(self, status: ElasticStatus, kill: Kill | None) -> Step:
        """Step until there is nothing to do; a step over what it wrote itself changes nothing."""
        for _ in range(MOST_STEPS):
            taken = step(self.terms, status, self.world.seen())
            if kill is not None:
                written = taken.status if kill.written else status
                status, kill = _survived(written), None
                continue
            status = taken.status
            if not self._do(taken):
                return taken
        raise AssertionError(f"no end of steps at {self.world.now}: {status}")

    def _do(self, taken: Step) -> bool:
        """Do what the status says, and tell whether there was anything to do."""
        world, status = self.world, taken.status
        before = self._state()
        world.set_members(status.members, status.changes)
        for uid in status.leaving:
            world.delete(uid)
        if status.requested_at is not None:
            world.ask(status.request)
        world.want(taken.decision.spot, taken.decision.on_demand)
        return before != self._state()

    def _state(self) -> tuple[object, ...]:
        world = self.world
        return len(world.pods), world.made, world.members, world.changes, world.asked

    def _end(self, status: ElasticStatus, risk_at: int | None, decisions: list[bytes], events: int) -> Run:
        world = self.world
        seen = msgspec.structs.replace(world.seen(), training=False)
        ledger = step(self.terms, status, seen).status.ledger
        for uid in tuple(ledger.open):
            ledger = books.closed(ledger, uid, world.now)
        status = msgspec.structs.replace(status, at=world.now, ledger=ledger)
        accounts = world.accounts
        return Run(world.now, accounts.spot, accounts.on_demand, accounts, status, risk_at, tuple(decisions), events)


def _survived(status: ElasticStatus) -> ElasticStatus:
    """What a new process reads."""
    return msgspec.json.decode(msgspec.json.encode(status), type=ElasticStatus)


def play(
    terms: Terms, truth: Truth, trace: Trace, start: int, *, kill: Kill | None = None, record: bool = False
) -> Run:
    """Run one job from a second of a trace on."""
    drawn = random.Random(f"{trace.name} {start}")  # noqa: S311 - no secret
    return Replay(terms, World(truth, trace.announced(truth.notice).from_second(start), drawn), kill, record).run()


def books_balance(run: Run) -> bool:
    """Whether the job's ledger has the same figures as the world's own accounts, to the second."""
    ledger, accounts = run.status.ledger, run.accounts
    sums = {row.pool: row.seconds for row in ledger.closed}
    ours = (sums.get("spot", 0.0), sums.get("on-demand", 0.0), ledger.start, ledger.save, ledger.change)
    theirs = (accounts.spot, accounts.on_demand, accounts.start, accounts.save, accounts.change)
    whole = accounts.start + accounts.save + accounts.change + accounts.lost + accounts.useful
    return ours == theirs and abs(ledger.lost - accounts.lost) < 0.5 and whole == accounts.paid()
