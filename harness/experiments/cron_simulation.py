"""Crons in virtual time: the operator's controller over a model of the API server, with everything that goes wrong.

    python -m harness.experiments.cron_simulation --ticks 10000

Schedules, zones, policies and lives of jobs are random; clocks are set an hour forward or back, summer time begins and
ends, 200 scheduled times pass without an operator, an operator dies before or after any of its writes at the moment at
which a run is due, and the next one begins with caches that are behind. The last line is JSON.
"""

import argparse
import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast, get_args

import msgspec

from harness.fakes.api_server import DiedError, FakeClient, Harm, Server
from kubedl.api.conditions import Condition
from kubedl.api.cron import CRONS, Cron
from kubedl.api.training import TrainingJob
from kubedl.cron import runs
from kubedl.cron.controller import CronController
from kubedl.cron.schedule import Schedule
from kubedl.kube import codec
from kubedl.kube.errors import ApiError
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer
from kubedl.training.kinds.pytorch import PyTorch

if TYPE_CHECKING:
    from kubedl.kube.client import Client
    from kubedl.runtime.events import EventRecorder

JOBS = PyTorch().resource
KEY = ObjectKey("team", "sim")
ZONES = (
    "",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Asia/Kolkata",
    "Africa/Cairo",
)
SCHEDULES = (
    "* * * * *",
    "*/5 * * * *",
    "*/30 * * * *",
    "0 * * * *",
    "30 1 * * *",
    "30 2 * * *",
    "0,15,30,45 0-3 * * *",
    "0 0 * * *",
    "59 23 * * 6,0",
    "0-59 1-2 * * *",
    "@hourly",
)
STARTS = (  # around the ends and beginnings of summer time, and elsewhere
    datetime(2026, 3, 28, 20, tzinfo=UTC),
    datetime(2026, 10, 24, 20, tzinfo=UTC),
    datetime(2026, 11, 1, 0, tzinfo=UTC),
    datetime(2026, 3, 7, 20, tzinfo=UTC),
    datetime(2026, 4, 4, 10, tzinfo=UTC),
    datetime(2027, 12, 31, 20, tzinfo=UTC),
)
MOST_STEPS = 60
HARMS: tuple[Harm, ...] = get_args(Harm)


class Operator:
    """One process: caches, each at its own point of the server's history, and the controller."""

    def __init__(self, world: "World", behind: int = 0) -> None:
        self._world = world
        self.client = FakeClient(world.server, world.judge)
        client = cast("Client", self.client)
        self._informers = {
            resource: Reflector(cast("Any", client), resource, Store[Any]()) for resource in (CRONS, JOBS)
        }
        for informer in self._informers.values():
            informer.synced.set()
        stores = {resource: informer.store for resource, informer in self._informers.items()}
        self._expectations = Expectations(stores)
        jobs = {JOBS: cast("Reflector[TrainingJob]", self._informers[JOBS])}
        self._controller = CronController(
            stores[CRONS],
            jobs,
            Writer(client, self._expectations),
            cast("EventRecorder", world),
            clock=lambda: world.server.now + world.skew,
        )
        for resource in stores:
            self.catch_up(resource, max(0, world.server.version - world.dice.randint(0, behind)))

    def catch_up(self, resource: Resource[Any], version: int | None = None) -> None:
        """Let a cache show the server's state of that version; it never goes back."""
        store, last = self._informers[resource].store, self._world.server.version if version is None else version
        for number, of, key, obj in self._world.server.log[store.version :]:
            if number > last:
                break
            if of is resource and obj is None:
                store.remove(key, None)
            elif of is resource:
                store.put(obj)
        store.version = max(store.version, last)

    async def reconcile(self) -> None:
        """Once, as the runtime would: not before the caches show what was written."""
        if self._expectations.pending(KEY):
            for resource in self._informers:
                self.catch_up(resource)
        try:
            await self._controller.reconcile(KEY)
        except ApiError:
            for resource in self._informers:
                self.catch_up(resource)


@dataclass
class World:
    """One Cron, its jobs, and those who disturb it."""

    seed: str
    violations: list[str] = field(default_factory=list)
    ticks: int = 0  # at which an operator was there
    missed: int = 0
    runs: Counter[str] = field(default_factory=Counter)  # by name, how often each was created
    skew: timedelta = timedelta()

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)  # noqa: S311 - not a secret
        dice = self.dice
        schedule, zone = dice.choice(SCHEDULES), dice.choice(ZONES)
        spec = {
            "schedule": schedule,
            "timeZone": zone,
            "concurrencyPolicy": dice.choice(("Allow", "Forbid", "Replace")),
            "template": {
                "kind": JOBS.kind,
                "workload": {"spec": {"pytorchReplicaSpecs": {"Master": {"template": {}}}}},
            },
            **({"historyLimit": dice.randint(0, 3)} if dice.random() < 0.7 else {}),
            **({"startingDeadlineSeconds": dice.choice((30, 600, 7200))} if dice.random() < 0.3 else {}),
        }
        self.server = Server(dice.choice(STARTS) + timedelta(seconds=dice.randint(0, 7200)), (CRONS, JOBS))
        self.schedule = Schedule(schedule, zone)
        meta = {"name": KEY.name, "namespace": KEY.namespace, "uid": "uid-cron", "generation": 1}
        body = {"metadata": {**meta, "creationTimestamp": codec.plain(self.server.now)}, "spec": spec}
        self.server.put(CRONS, CRONS.decoder.decode(codec.encode(body)))
        self.operator = Operator(self)

    def event(self, *_: object) -> None:
        """As a recorder of Events."""

    @property
    def cron(self) -> Cron:
        """As the server has it."""
        return cast("Cron", self.server.objects[CRONS][KEY])

    def jobs(self) -> list[TrainingJob]:
        """All runs."""
        return list(self.server.objects[JOBS].values())

    def judge(self, job: TrainingJob) -> None:
        """Called at each creation, by what the server knows then."""
        name, policy = job.metadata.name, self.cron.spec.concurrency_policy
        when = datetime.fromtimestamp(runs.minute_of(name) * 60, UTC)
        self.runs[name] += 1
        if self.runs[name] > 1:
            self._violated(f"{name} ran twice")
        if self.schedule.latest(when) != when:
            self._violated(f"{when} is no time of the schedule")
        if when > self.server.now + self.skew:
            self._violated(f"{name} ran before its time")
        if self.cron.status.last_schedule_time != when:
            self._violated(f"{name} is not the run that the status names")
        others = [other.metadata.name for other in self.jobs() if not runs.Run(JOBS, other).is_finished]
        if others and policy != "Allow":
            self._violated(f"{name} runs beside {others} under {policy}")

    async def run(self, ticks: int) -> None:
        """Let so many scheduled times pass."""
        while self.ticks < ticks:
            self._pass_time()
            self._progress()
            await self._tick()
            self._check_quiet()

    def _pass_time(self) -> None:
        """To the next scheduled time, past 200 of them, or back and forth by an hour."""
        dice, server = self.dice, self.server
        missed = 200 if dice.random() < 0.02 else 1
        for _ in range(missed):
            following = self.schedule.after(server.now)
            if following is None:
                raise AssertionError("the schedule has ended")
            server.now = following
        self.ticks += 1
        self.missed += missed - 1
        server.now += timedelta(seconds=dice.choice((0, 0, 1, 20, 45)))
        if dice.random() < 0.05:
            self.skew = dice.choice((timedelta(hours=-1), timedelta(), timedelta(hours=1)))

    def _progress(self) -> None:
        """Jobs end, users delete some, and what is being deleted goes."""
        for job in self.jobs():
            run, fate = runs.Run(JOBS, job), self.dice.random()
            if (run.is_leaving and fate < 0.7) or (not run.is_finished and fate < 0.02):
                self.server.drop(JOBS, job.metadata.key)
            elif not run.is_finished and not run.is_leaving and fate < 0.5:
                ended = Condition(type=self.dice.choice(("Succeeded", "Failed")), status="True")
                status = msgspec.structs.replace(job.status, conditions=(ended,), completion_time=self.server.now)
                self.server.put(JOBS, msgspec.structs.replace(job, status=status))

    async def _tick(self) -> None:
        """Let operators work, one after another, until nothing changes; the last of them is not disturbed."""
        dice = self.dice
        if dice.random() < 0.15:  # another takes over, and its caches do not show yet what the last one did
            self.operator = Operator(self, behind=dice.choice((2, 5, 30)))
        while dice.random() < 0.4:
            self.operator.client.harm = self.operator.client.writes + dice.randint(0, 3), dice.choice(HARMS)
            for resource in (CRONS, JOBS):
                if dice.random() < 0.3:
                    self.operator.catch_up(resource)
            try:
                for _ in range(dice.randint(1, 4)):
                    await self.operator.reconcile()
            except DiedError:
                self.operator = Operator(self, behind=dice.choice((0, 2, 5, 30)))
            self.operator.client.harm = None
        await self._settle()

    async def _settle(self) -> None:
        for _ in range(MOST_STEPS):
            before = self.server.version
            for resource in (CRONS, JOBS):
                self.operator.catch_up(resource)
            await self.operator.reconcile()
            if self.server.version == before:
                return
            for job in self.jobs():
                if runs.Run(JOBS, job).is_leaving and self.dice.random() < 0.5:
                    self.server.drop(JOBS, job.metadata.key)
        self._violated("the operator does not come to rest")

    def _check_quiet(self) -> None:
        """When all is quiet: nothing that is due waits without a reason, and old runs are gone."""
        spec, status, now = self.cron.spec, self.cron.status, (self.server.now + self.skew).replace(microsecond=0)
        jobs = [runs.Run(JOBS, job) for job in self.jobs()]
        finished = [run for run in jobs if run.is_finished and not run.is_leaving]
        if spec.history_limit is not None and len(finished) > spec.history_limit:
            self._violated(f"{len(finished)} finished runs are kept")
        active = {run.name for run in jobs if not run.is_finished}
        if {entry.name for entry in status.active} != active:
            self._violated(f"{status.active} are said to be active, and {active} are")
        latest, last = self.schedule.latest(now), status.last_schedule_time
        since = last or self.cron.metadata.creation_timestamp
        late = latest is not None and (now - latest).total_seconds() > (spec.starting_deadline_seconds or 10**9)
        due = latest is not None and since is not None and latest > since and not late
        if due and (spec.concurrency_policy == "Allow" or not active):
            self._violated(f"the run of {latest} was not started")
        if (
            due
            and spec.concurrency_policy == "Replace"
            and any(not (run.is_finished or run.is_leaving) for run in jobs)
        ):
            self._violated(f"{active} are not replaced by the run of {latest}")

    def _violated(self, what: str) -> None:
        self.violations.append(f"seed {self.seed}: {what} at {self.server.now}")


async def simulate(ticks: int, seed: str, each: int = 60) -> tuple[Counter[str], list[str]]:
    """Worlds one after another until so many scheduled times have passed; returns counts and violations."""
    counts: Counter[str] = Counter()
    violations: list[str] = []
    while counts["ticks"] < ticks:
        world = World(f"{seed}.{counts['worlds']}")
        await world.run(min(each, ticks - counts["ticks"]))
        counts.update(ticks=world.ticks, missed=world.missed, worlds=1, runs=world.runs.total())
        violations += world.violations
    return counts, violations


@contextmanager
def broken(owner: object, name: str, instead: object) -> Iterator[None]:
    """A controller without one of its precautions, to show that the judge would notice."""
    kept = getattr(owner, name)
    setattr(owner, name, instead)
    try:
        yield
    finally:
        setattr(owner, name, kept)


def main() -> int:
    """Print what was simulated, and what went wrong."""
    parser = argparse.ArgumentParser(prog="python -m harness.experiments.cron_simulation", description=__doc__)
    parser.add_argument("--ticks", type=int, default=10_000, help="scheduled times that pass")
    parser.add_argument("--seed", default="0", help="repeats a simulation")
    options = parser.parse_args()
    counts, violations = asyncio.run(simulate(options.ticks, options.seed))
    for violation in violations[:20]:
        print(violation, file=sys.stderr)
    print(json.dumps({**counts, "violations": len(violations)}))
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
