"""Leader election in virtual time, against leases that behave as the API server's do, faults included."""

import asyncio
import contextlib
import random
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from kubedl.kube.client import Client
from kubedl.kube.errors import AlreadyExistsError, ConflictError, NotFoundError, UnknownOutcomeError
from kubedl.kube.types.core import Lease, LeaseSpec
from kubedl.kube.types.meta import ObjectKey, ObjectMeta
from kubedl.runtime.leader_election import LeaderElector, Timing

KEY = ObjectKey("kube-system", "kubedl")
TIMING = Timing()
Fault = Callable[[str], Awaitable[str]]


class DiedError(Exception):
    """What a test has in place of the end of its process."""


def die(why: str) -> None:
    if threading.current_thread() is threading.main_thread():  # the watchdog lives in real time, the test does not
        raise DiedError(why)


@dataclass
class Leases:
    """What the server keeps: one lease, or none."""

    lease: Lease | None = None
    version: int = 0
    written_at: float = 0
    writes: list[dict[str, Any]] = field(default_factory=list)

    def write(self, spec: dict[str, Any]) -> Lease:
        self.version += 1
        self.written_at = asyncio.get_running_loop().time()
        self.writes.append(spec)
        old = self.lease.spec if self.lease else LeaseSpec()
        new = LeaseSpec(
            holder_identity=spec["holderIdentity"],
            lease_duration_seconds=spec.get("leaseDurationSeconds", old.lease_duration_seconds),
            lease_transitions=spec.get("leaseTransitions", old.lease_transitions),
            renew_time=datetime.fromisoformat(spec["renewTime"]) if "renewTime" in spec else old.renew_time,
        )
        self.lease = Lease(metadata=ObjectMeta(name=KEY.name, resource_version=str(self.version)), spec=new)
        return self.lease

    @property
    def holder(self) -> str:
        return self.lease.spec.holder_identity if self.lease else ""


async def no_fault(_: str) -> str:
    return ""


class Connection(Client):
    """A client of those leases. `fault` is asked before each call and says "before" or "after" to lose it there."""

    def __init__(self, leases: Leases, fault: Fault = no_fault) -> None:
        self.leases = leases
        self.fault = fault

    async def get(self, *_: Any) -> Any:  # noqa: ANN401
        async with self._call("get"):
            if self.leases.lease is None:
                raise NotFoundError(404, "NotFound", "no lease")
            return self.leases.lease

    async def create(self, _: Any, __: str, body: Any) -> Any:  # noqa: ANN401
        async with self._call("create"):
            if self.leases.lease is not None:
                raise AlreadyExistsError(409, "AlreadyExists", "somebody was faster")
            return self.leases.write(body["spec"])

    async def patch(self, _: Any, __: ObjectKey, body: Any, *___: Any) -> Any:  # noqa: ANN401
        async with self._call("patch"):
            if self.leases.lease is None:
                raise NotFoundError(404, "NotFound", "no lease")
            if body["metadata"]["resourceVersion"] != self.leases.lease.metadata.resource_version:
                raise ConflictError(409, "Conflict", "somebody was faster")
            return self.leases.write(body["spec"])

    @contextlib.asynccontextmanager
    async def _call(self, verb: str) -> AsyncIterator[None]:
        lost = await self.fault(verb)
        if lost == "before":
            raise UnknownOutcomeError(0, "", "lost before it arrived")
        yield
        if lost == "after":
            raise UnknownOutcomeError(504, "", "lost after it was done")


class Candidate:
    """A process that wants to lead."""

    def __init__(self, leases: Leases, fault: Fault = no_fault, timing: Timing = TIMING) -> None:
        self.connection = Connection(leases, fault)
        self.heard: list[bool] = []
        loop = asyncio.get_running_loop()
        self.election = LeaderElector(
            self.connection, KEY, timing=timing, changed=self.heard.append, clock=loop.time, die=die
        )
        self.leading = asyncio.Event()
        self.ended = asyncio.Event()
        self.task = asyncio.ensure_future(self.election.run(self.lead))

    async def lead(self) -> None:
        self.leading.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()

    async def stop(self) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task

    async def crash(self) -> None:
        """End without giving anything back."""

        async def unreachable(_: str) -> str:
            return "before"

        self.connection.fault = unreachable
        await self.stop()


@pytest.fixture
def leases() -> Leases:
    return Leases()


@pytest.mark.looptime(end=2000, noop_cycles=0)
class TestVirtualTime:
    """All that needs no clock of the machine."""

    async def test_the_first_one_leads(self, leases: Leases) -> None:
        one = Candidate(leases)
        await one.leading.wait()
        assert asyncio.get_running_loop().time() == 0
        assert one.election.is_leader
        assert leases.holder == one.election.identity
        assert leases.writes[0].keys() == {
            "holderIdentity", "renewTime", "acquireTime", "leaseDurationSeconds", "leaseTransitions",
        }  # fmt: skip
        assert (leases.writes[0]["leaseDurationSeconds"], leases.writes[0]["leaseTransitions"]) == (15, 0)
        await one.stop()

    async def test_a_second_one_waits_while_the_first_renews(self, leases: Leases) -> None:
        one, two = Candidate(leases), Candidate(leases)
        await asyncio.sleep(600)
        assert (one.election.is_leader, two.election.is_leader) == (True, False)
        assert not two.leading.is_set()
        assert leases.lease is not None
        assert leases.lease.spec.lease_transitions == 0
        await asyncio.gather(one.stop(), two.stop())

    async def test_stopping_gives_the_lease_to_the_next(self, leases: Leases) -> None:
        """After the work has ended, and without waiting for the lease to run out."""
        loop = asyncio.get_running_loop()
        one = Candidate(leases)
        await one.leading.wait()
        two = Candidate(leases)
        await asyncio.sleep(30)
        stopped_at = loop.time()
        await one.stop()
        assert one.ended.is_set()
        assert (leases.holder, one.election.is_leader, one.heard) == ("", False, [True, False])
        await two.leading.wait()
        assert loop.time() - stopped_at <= TIMING.retry
        assert leases.lease is not None
        assert (leases.lease.spec.lease_transitions, leases.lease.spec.lease_duration_seconds) == (1, 15)
        await two.stop()

    async def test_the_lease_is_kept_until_the_work_has_ended(self, leases: Leases) -> None:
        """Ending may take longer than the lease lasts; giving it back first would let two write."""

        seen: list[tuple[bool, str]] = []

        class Slow(Candidate):
            async def lead(self) -> None:
                try:
                    await super().lead()
                finally:
                    await asyncio.sleep(60)
                    seen.append((self.election.is_leader, leases.holder))

        one = Slow(leases)
        await one.leading.wait()
        two = Candidate(leases)
        await one.stop()
        assert seen == [(True, one.election.identity)]
        assert not two.leading.is_set()
        await two.leading.wait()
        await two.stop()

    async def test_a_dead_leader_is_followed_when_its_lease_has_run_out(self, leases: Leases) -> None:
        loop = asyncio.get_running_loop()
        one = Candidate(leases)
        await one.leading.wait()
        two = Candidate(leases)
        await asyncio.sleep(30)
        await one.crash()
        renewed_at = leases.written_at
        await two.leading.wait()
        assert TIMING.duration <= loop.time() - renewed_at <= TIMING.duration + TIMING.retry
        assert leases.lease is not None
        assert leases.lease.spec.lease_transitions == 1
        await two.stop()

    async def test_the_age_of_a_lease_is_measured_by_our_own_clock(self, leases: Leases) -> None:
        """Whatever time the other machine has: a lease first seen now may have been renewed just now."""
        leases.write({"holderIdentity": "other", "renewTime": "1970-01-01T00:00:00Z", "leaseDurationSeconds": 40})
        one = Candidate(leases)
        await one.leading.wait()
        assert 40 <= asyncio.get_running_loop().time() <= 40.1
        await one.stop()

    async def test_a_leader_that_cannot_renew_dies_before_the_lease_runs_out(self, leases: Leases) -> None:
        loop = asyncio.get_running_loop()
        lost = ""

        async def fault(_: str) -> str:
            return lost

        one = Candidate(leases, fault)
        await one.leading.wait()
        two = Candidate(leases)
        lost = "before"
        with pytest.raises(DiedError, match="was not renewed for 10 s"):
            await one.task
        assert (loop.time() < TIMING.duration, one.ended.is_set(), two.leading.is_set()) == (True, True, False)
        await two.stop()

    async def test_a_call_that_hangs_does_not_use_up_the_time_of_the_next(self, leases: Leases) -> None:
        """One connection that goes nowhere is no reason to step down."""
        hung: list[str] = []

        async def fault(verb: str) -> str:
            if verb == "patch" and not hung:
                hung.append(verb)
                await asyncio.Event().wait()
            return ""

        one = Candidate(leases, fault)
        await asyncio.sleep(60)
        assert (hung, one.election.is_leader) == (["patch"], True)
        await one.stop()

    async def test_a_renewal_that_went_unanswered_is_recognised(self, leases: Leases) -> None:
        """The record is newer than we know, and ours."""
        answers = iter(["", "", "after", *[""] * 100])

        async def fault(_: str) -> str:
            return next(answers)

        one = Candidate(leases, fault)
        await asyncio.sleep(60)
        assert one.election.is_leader
        assert leases.lease is not None
        assert leases.lease.spec.lease_transitions == 0
        await one.stop()

    async def test_a_leader_whose_lease_is_taken_dies(self, leases: Leases) -> None:
        one = Candidate(leases)
        await one.leading.wait()
        leases.write({"holderIdentity": "thief"})
        with pytest.raises(DiedError, match="is held by thief"):
            await one.task
        assert leases.holder == "thief"  # not ours to give back

    async def test_a_lease_that_was_deleted_is_made_again(self, leases: Leases) -> None:
        one = Candidate(leases)
        await one.leading.wait()
        leases.lease = None
        await asyncio.sleep(TIMING.retry + 0.1)
        assert leases.holder == one.election.identity
        await one.stop()

    async def test_of_two_that_come_at_once_one_is_refused(self, leases: Leases) -> None:
        """Both have seen the lease free; the version decides."""
        leases.write({"holderIdentity": ""})

        async def slowly(verb: str) -> str:
            await asyncio.sleep(0.1 if verb == "patch" else 0)
            return ""

        one, two = Candidate(leases, slowly), Candidate(leases, slowly)
        await asyncio.sleep(1)
        assert [one.election.is_leader, two.election.is_leader].count(True) == 1
        await asyncio.gather(one.stop(), two.stop())

    async def test_a_failure_of_the_work_is_told_and_the_lease_given_back(self, leases: Leases) -> None:
        class Failing(Candidate):
            async def lead(self) -> None:
                raise RuntimeError("a bug")

        with pytest.raises(RuntimeError, match="a bug"):
            await Failing(leases).task
        assert leases.holder == ""

    async def test_who_stops_while_waiting_takes_nothing(self, leases: Leases) -> None:
        leases.write({"holderIdentity": "other"})
        one = Candidate(leases)
        await asyncio.sleep(1)
        await one.stop()
        assert (leases.holder, one.heard) == ("other", [])

    async def test_who_stops_while_taking_gives_it_back(self, leases: Leases) -> None:
        """The write was on its way when the order to stop came."""

        async def fault(verb: str) -> str:
            if verb == "create":
                asyncio.get_running_loop().call_soon(one.task.cancel)
            return ""

        one = Candidate(leases, fault)
        with pytest.raises(asyncio.CancelledError):
            await one.task
        assert leases.writes
        assert leases.holder == ""

    @pytest.mark.parametrize("seed", range(8))
    async def test_never_two(self, leases: Leases, seed: int) -> None:
        """Four candidates, calls that are late, lost before or after they are done, stops and restarts at random."""
        dice = random.Random(seed)  # noqa: S311 - repeatable
        loop = asyncio.get_running_loop()
        candidates: list[Candidate] = []
        led: set[str] = set()

        async def fault(_: str) -> str:
            await asyncio.sleep(dice.choice([0, 0, 0.01, 0.5, 2, 8]))
            return dice.choice(["", "", "", "before", "after"])

        class Working(Candidate):
            async def lead(self) -> None:
                while True:
                    self.election.check()  # as before every write
                    assert [c.election.is_leader for c in candidates].count(True) == 1
                    led.add(self.election.identity)
                    await asyncio.sleep(0.5)

        candidates += [Working(leases, fault) for _ in range(4)]
        while loop.time() < 400:
            await asyncio.sleep(dice.uniform(1, 40))
            index = dice.randrange(4)
            if dice.random() < 0.5:
                await _ended(candidates[index])
            for place, candidate in enumerate(candidates):
                if candidate.task.done():
                    await _ended(candidate)
                    candidates[place] = Working(leases, fault)
        for candidate in candidates:
            await _ended(candidate)
        assert len(led) > 2


async def test_the_watchdog_ends_a_process_whose_loop_is_stuck(leases: Leases) -> None:
    """It lives in a thread of its own: when the loop is frozen or busy, nobody else would look at the clock."""
    died, ahead = threading.Event(), 0.0
    loop = asyncio.get_running_loop()

    async def lead() -> None:
        nonlocal ahead
        ahead = 100.0
        assert died.wait(10)

    timing = Timing(1, 0.5, 0.1)
    election = LeaderElector(
        Connection(leases), KEY, timing=timing, clock=lambda: loop.time() + ahead, die=lambda _: died.set()
    )
    await election.run(lead)
    assert died.is_set()


def test_times_that_cannot_work_are_refused() -> None:
    for timing in ((15, 15, 2), (15, 3, 2), (5, 10, 2)):
        with pytest.raises(ValueError, match="must fit"):
            Timing(*timing)


async def _ended(candidate: Candidate) -> None:
    candidate.task.cancel()
    with contextlib.suppress(asyncio.CancelledError, DiedError):
        await candidate.task
