"""One job, one operator, and a schedule of faults between any two things that happen; then the faults stop.

`run` plays a schedule, lets everything come to rest, and checks that it came to a good end: the job finished or gone,
nothing left to write, and nothing left that should not be there. What must hold on the way is in `invariants`.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from kubedl.api.conditions import is_true
from kubedl.api.training import TrainingJob
from kubedl.kube.types.core import PODS, SERVICES
from kubedl.runtime.store import OwnerKey
from kubedl.training.kind import Kind
from kubedl.training.planner import plan
from kubedl.training.policies.clean_pod_policy import is_cleaned
from proofs.seed import seed
from tests import sampling
from tests.training_builders import NOW
from tests.unit.training.api_model import ApiModel, Crash, Harm
from tests.unit.training.invariants import Judge, owner
from tests.unit.training.operator_model import OperatorModel
from tests.unit.training.program_model import ProgramModel
from tests.unit.training.world_model import World

EXITS = (0, 1, 137, 143, 0, 130, 2, 0)
PAUSES = (1, 3, 7, 20, 61, 120, 310, 4000)
HARMS: tuple[Harm, ...] = ("crash before", "crash after", "lost before", "lost after", "refused")
SPOILED = ("", "x", "0", "1", "7", "9" * 63)  # the label of an attempt
ENOUGH = 600  # rounds to come to rest; the longest seen took about a hundred

Fate = tuple[int, Harm]  # which of all writes of all operators, and what befalls it
Step = tuple[str, int, int]  # what happens, and two numbers that choose to whom and how


@dataclass
class Simulation:
    """A world, and the operator that lives in it now."""

    kind: Kind
    made: TrainingJob
    runner: asyncio.Runner
    fate: Fate | None = None
    writes: int = 0

    def __post_init__(self) -> None:
        self.world = World(self.kind, self.made, ApiModel(NOW))
        self.judge = Judge(self.world)
        self.program = ProgramModel(self.world)
        self.operator, self.standby = self._start(), self._start()

    def restart(self) -> None:
        """The operator is killed and another takes its place, with empty memory."""
        self.operator = self._start()

    def take_over(self) -> None:
        """The operator is killed while a standby has followed all that happened, and remembers it."""
        self.standby.deliver_all()
        self.operator, self.standby = self.standby, self._start()

    def _start(self) -> OperatorModel:
        return OperatorModel(self.world.api, self.kind, self.made.metadata.key, self.judge, program=self.program)

    def look(self, harm: tuple[int, Harm] | None = None) -> bool:
        """The operator looks at its job."""
        if self.fate is not None and self.fate[0] >= self.writes:
            harm = self.fate[0] - self.writes, self.fate[1]
        operator = self.operator
        try:
            return operator.reconcile(self.runner, harm)
        except Crash:
            self.restart()
            return True
        finally:
            self.writes += operator.client.writes
            operator.client.writes = 0

    def step(self, step: Step) -> None:
        """One thing happens."""
        name, which, how = step
        if name in DEEDS:
            DEEDS[name](self, which, how)
        else:
            MOVES[name](self.world, which, how)

    def spoil(self, which: int, how: int) -> None:
        """Somebody edits the label that says which attempt a pod is of."""
        self.judge.spoiled |= self.world.spoil_label(which, SPOILED[how % len(SPOILED)])

    def pass_time(self, seconds: int) -> None:
        self.world.api.now += timedelta(seconds=seconds)

    def work(self, rounds: int) -> None:
        """A while without faults and without ends, so that there is something to be broken."""
        for _ in range(rounds):
            self.operator.deliver_all()
            if self.operator.has_reason():
                self.look()
            if self.world.reap(0) or self._leave(143) or self.world.bind(0, rounds) or self.world.start(0):
                continue
            job = self.world.job
            if job is None or not is_true(job.status.conditions, "Blocked") or not self._time_passes():
                return

    def work_until_running(self) -> None:
        """Every replica has its pod, and every pod runs."""
        for _ in range(ENOUGH):
            self.work(1)
            size = self.kind.job(self.world.job).size if self.world.job is not None else 0
            if len(self.world.running()) == size and not self.operator.has_reason():
                return

    def settle(self) -> None:
        """No more faults: everybody does its work until nobody has any."""
        self.world.set_suspend(False)
        self.world.end_outage()
        for _ in range(ENOUGH):
            self.operator.deliver_all()
            looked = self.operator.has_reason()
            if looked:
                self.look()
                self.pass_time(1)
            if self.operator.reason is not None:  # what stands in its way is for others to remove
                _ = self._world_works() or self.world.return_node(0)
            elif not looked and not self._world_works() and not self._time_passes():
                return
        raise AssertionError(f"not at rest after {ENOUGH} rounds: {self.operator.reason}")

    def _world_works(self) -> bool:
        world = self.world
        return (
            world.collect_orphan(0)
            or world.reap(0)
            or self._leave(0)
            or world.bind(0, 0)
            or world.start(0)
            or any(world.exit(which, 0) for which in self._training())
        )

    def _leave(self, code: int) -> bool:
        """Somebody who has been told to go does."""
        told = [place for place, pod in enumerate(self.world.running()) if pod.metadata.deletion_timestamp is not None]
        return bool(told) and self.world.exit(told[0], code)

    def _training(self) -> list[int]:
        """Who ends next by itself: parameter servers only when nobody else is left to."""
        running = self.world.running()
        return sorted(range(len(running)), key=lambda place: "-ps-" in running[place].metadata.name)[:1]

    def _time_passes(self) -> bool:
        if self.operator.due is None:
            return False
        self.world.api.now = max(self.world.api.now, self.operator.due)
        return True

    def check_end(self) -> None:
        """Everything came to a good end."""
        observed = self.operator.controller.observer.observe(self.made.metadata.key)
        job = self.world.job
        if job is None or observed is None:
            assert observed is None
            left = self.world.pods(lambda pod: not self.world.is_lost(pod.spec.node_name))
            assert left == [], "pods outlive their job"
            assert list(self.world.api.all(SERVICES)) == [], "the Service outlives its job"
            return
        status = job.status
        assert is_true(status.conditions, "Succeeded") != is_true(status.conditions, "Failed"), (
            f"the job came to rest without an end: {status}"
        )
        decided = plan(observed)
        assert decided.status == status, "at rest, but there is a status to write"
        writes = [*decided.creations, *decided.deletions]
        assert (writes, decided.create_service, decided.delete_job) == ([], False, False)
        assert decided.wake_at is None or decided.wake_at > self.world.api.now
        policy = job.spec.clean_pod_policy or self.kind.clean_pod_policy
        failed = is_true(status.conditions, "Failed")
        left = self.world.pods(lambda pod: is_cleaned(pod, policy, failed=failed) and owner(pod) == job.metadata.uid)
        assert left == [], "pods are left that should be gone"
        assert not self.operator.pods.tombstones(OwnerKey.of_owner(job)), "pods are remembered for ever"


def _look_and_suffer(simulation: Simulation, which: int, how: int) -> None:
    simulation.operator.deliver_all()
    simulation.look((which, HARMS[how % len(HARMS)]))


def _deliver(simulation: Simulation, which: int, how: int) -> None:
    simulation.operator.deliver((PODS, simulation.kind.resource, SERVICES)[which % 3], how + 1)


DEEDS: dict[str, Callable[[Simulation, int, int], Any]] = {
    "look": lambda simulation, *_: simulation.look(),
    "look and suffer": _look_and_suffer,
    "work": lambda simulation, which, _: simulation.work(1 + which),
    "work until running": lambda simulation, *_: simulation.work_until_running(),
    "restart": lambda simulation, *_: simulation.restart(),
    "take over": lambda simulation, *_: simulation.take_over(),
    "pass time": lambda simulation, which, _: simulation.pass_time(PAUSES[which]),
    "deliver": _deliver,
    "deliver all": lambda simulation, *_: simulation.operator.deliver_all(),
    "list again": lambda simulation, *_: simulation.operator.list_again(PODS),
    "spoil": lambda simulation, which, how: simulation.spoil(which, how),
    "hush": lambda simulation, which, _: setattr(simulation.program, "silent", which % 2 == 0),
}

MOVES: dict[str, Callable[[World, int, int], Any]] = {
    "bind": lambda world, which, how: world.bind(which, how),
    "start": lambda world, which, _: world.start(which),
    "exit": lambda world, which, how: world.exit(which, EXITS[how]),
    "refuse": lambda world, which, _: world.refuse(which),
    "exceed": lambda world, which, _: world.exceed(which),
    "reap": lambda world, which, _: world.reap(which),
    "delete pod": lambda world, which, how: world.delete_pod(which, disrupt=how % 2 == 1),
    "force pod": lambda world, which, _: world.delete_pod(which, force=True),
    "lose node": lambda world, which, _: world.lose_node(which),
    "return node": lambda world, which, _: world.return_node(which),
    "evict from lost": lambda world, which, _: world.evict_from_lost(which),
    "notice": lambda world, which, how: world.give_notice(which, how),
    "withdraw": lambda world, which, _: world.withdraw_notice(which),
    "collect ended": lambda world, which, _: world.collect_ended(which),
    "collect orphan": lambda world, which, _: world.collect_orphan(which),
    "suspend": lambda world, *_: world.set_suspend(True),
    "resume": lambda world, *_: world.set_suspend(False),
    "resize": lambda world, which, how: world.resize(which, how % 4),
    "delete job": lambda world, *_: world.delete_job(),
    "make job": lambda world, *_: world.make_job(),
    "push": lambda world, *_: world.push(),
}


def run(kind: Kind, made: TrainingJob, schedule: Sequence[Step], fate: Fate | None = None) -> Simulation:
    """Play a schedule to its end; raises AssertionError when anything is wrong."""
    with asyncio.Runner() as runner:
        simulation = Simulation(kind, made, runner, fate)
        for step in schedule:
            simulation.step(step)
        simulation.settle()
    simulation.check_end()
    return simulation


def fates(undisturbed: Simulation, rule: str, harms: Sequence[Harm] = HARMS[1:]) -> Sequence[Fate]:
    """Harms for a third of a life's writes; in a proof every harm for every write.

    "Before" a write is left out: it is "after" the one before it.
    """
    print(f"SEED={seed()}")  # shown with a failure
    every = [(write, harm) for write in range(undisturbed.writes) for harm in harms]
    return sampling.some_of(every, -(-undisturbed.writes // 3), rule)
