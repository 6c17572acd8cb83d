"""Crash points: a scenario is run once undisturbed, and then once for every write with the operator killed there.

Each write is a crash point twice: killed (SIGKILL) before it reaches the API server, and after it was committed but
before the answer. The operator is started again at once, the scenario goes on, and in the end the state must be that
of the undisturbed run, and the audit log must hold the same creations and deletions, none more.

    python -m harness.experiments.crash_points --most 4 --seed 39b8043 --scenario tf_parameter_servers

A sample is drawn by a seed, for each scenario by itself, so that one scenario of a sample can be repeated alone.
"""

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from harness.drivers import audit_log
from harness.drivers.environment import FULL, Stage, stage
from harness.drivers.operator_process import USER
from harness.drivers.proxied_operator import ProxiedOperator
from harness.drivers.state_digest import differences, digest, lasting
from harness.scenarios import Scenario, all_scenarios
from harness.scenarios.driver import ScenarioDriver
from testbed import cluster_lock, namespaces
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.errors import TestbedError
from testbed.faultproxy import KillClient, Match
from testbed.instance import chosen_index
from testbed.waiting import until, working_seconds

# Seconds after a crash within which the world must be as if nothing had happened; in CI another test's runs, and what
# the garbage collector has to do for it, come first.
CONVERGED = 30.0 if FULL else 120.0
QUIET = 1.0  # seconds without a write after which an undisturbed run is over
TRIES = 5  # to reach a crash point
WIDTH = 4  # runs at a time, for each of which there is an operator and a proxy

BESIDE = ("secrets", "podgroups", "workloads")
MADE = ("create", "pods")

Deeds = Counter[tuple[str, str, str]]  # verb, resource, name


@dataclass(frozen=True)
class Point:
    """Where the operator is killed: at its nth write, before or after the commit."""

    scenario: str
    write: int
    after_commit: bool

    def __str__(self) -> str:
        return f"{self.scenario}, {'after' if self.after_commit else 'before'} write {self.write}"


@dataclass
class Outcome:
    """How a run ended: what is wrong with it, if anything."""

    namespace: str
    point: Point | None = None  # None: undisturbed
    state: Object = field(default_factory=dict)
    writes: int = 0
    kills: int = 0
    seconds: float = 0.0  # from the kill until the scenario could go on
    complaints: list[str] = field(default_factory=list)


class Laboratory:
    """Runs scenarios on a cluster, several at a time."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._watcher = stage.watcher

    def undisturbed(self, name: str) -> Outcome:
        """The run that all others must equal."""
        return self._run(name, None, {})

    def crashed(self, point: Point, wanted: Outcome) -> Outcome:
        """A run with the operator killed at one point.

        Two news that arrive together make one write instead of two, so on a busy machine a run may end before its
        crash point. It says nothing about the crash then, and the operator is killed at its last write instead.
        """
        write = point.write
        for _ in range(TRIES):
            outcome = self._run(point.scenario, replace(point, write=write), wanted.state)
            if outcome.kills or outcome.complaints:
                break
            write = max(min(write - 1, outcome.writes), 1)
        return outcome

    def judge(self, outcomes: Sequence[Outcome], since: audit_log.Moment) -> None:
        """Compare what was done in each run with what was done in the first, undisturbed one.

        Pods that ever existed are known from a watch; that it missed none is known from the audit log, where a write
        whose client died may be missing or called a failure.
        """
        recorded = self._recorded({outcome.namespace for outcome in outcomes}, since)
        wanted = self._existed(outcomes[0].namespace)
        for outcome in outcomes:
            existed, deeds = self._existed(outcome.namespace), recorded[outcome.namespace]
            made = Counter({name: count for (verb, kind, name), count in deeds.items() if (verb, kind) == MADE})
            outcome.complaints += [f"pod {name} was made {existed[name]} times" for name in existed - wanted]
            outcome.complaints += [f"pod {name} was made {existed[name]} times only" for name in wanted - existed]
            outcome.complaints += [f"pod {name} was made unseen" for name in made - existed]
            more = deeds - recorded[outcomes[0].namespace]
            outcome.complaints += [f"audit log: {' '.join(deed)} once too often" for deed in more]

    def _existed(self, namespace: str) -> Counter[str]:
        """How many pods there ever were of each name."""
        found = [pod for kind in ("pods", "builds") for pod in self._watcher.ever(kind, namespace).values()]
        return Counter(lasting(pod["metadata"]["name"]) for pod in found)

    def _recorded(self, places: set[str], since: audit_log.Moment) -> dict[str, Deeds]:
        """What the audit log has of successful creations and deletions by the operator."""
        deeds: dict[str, Deeds] = {place: Counter() for place in places}
        for write in audit_log.writes(self._stage.cluster, USER, since):
            counts = write.verb in {"create", "delete"} and write.resource != "events" and write.code < 300
            if counts and write.namespace in places:
                deeds[write.namespace][write.verb, write.resource, _lasting_name(write)] += 1
        return deeds

    def _run(self, name: str, point: Point | None, wanted: Object) -> Outcome:
        with namespaces.fresh(self._stage.cluster.api, "crash") as namespace:
            outcome = Outcome(namespace, point)
            arguments = ("--no-leader-election", "--namespace", namespace)
            with ProxiedOperator(self._stage, namespace, arguments) as operator:
                if point is not None:
                    # Until it is dead: a refused write has no moment after its commit, so the next one counts.
                    match = Match(verb="write", nth=point.write, times=None)
                    operator.proxy.inject(match, KillClient(after_commit=point.after_commit))
                try:
                    self._play(all_scenarios()[name], operator, outcome, wanted)
                except TestbedError as error:
                    outcome.complaints += [str(error), *differences(wanted, outcome.state), operator.tail()]
            return outcome

    def _play(self, play: Scenario, operator: ProxiedOperator, outcome: Outcome, wanted: Object) -> None:
        def went_on() -> None:
            if operator.killed_at and not outcome.seconds:
                outcome.seconds = time.monotonic() - operator.killed_at[0]

        world = ScenarioDriver(
            self._watcher, outcome.namespace, self._stage.node, deadline=CONVERGED, tend=operator.tend, met=went_on
        )
        look: Callable[[], Object] = partial(digest, self._watcher, outcome.namespace)
        operator.start()
        try:
            play(world)
            if not operator.killed_at:
                _wait_quiet(operator)  # the last writes are events, which change nothing; they are crash points too
            is_over = False
            while not is_over:  # twice if the last write, and with it the crash, came when the run seemed to be over
                if outcome.point is not None:
                    world.until("the state of the undisturbed run", lambda: look() == wanted)
                is_over = operator.stop_unless_killed()
        finally:
            outcome.kills, outcome.writes = len(operator.killed_at), len(operator.writes())
            outcome.state = look()
        outcome.complaints += differences(wanted, outcome.state) if outcome.point is not None else []


def _lasting_name(write: audit_log.Write) -> str:
    """The same in every run: what a job has beside its pods and Service ends with a part of the job's uid."""
    return write.name.rpartition("-")[0] if write.resource in BESIDE else lasting(write.name)


@dataclass(frozen=True)
class Sample:
    """At most so many crash points of a scenario."""

    most: int
    seed: str

    def of(self, found: Sequence[Point]) -> list[Point]:
        """Those of one scenario, in their order."""
        if len(found) <= self.most:
            return list(found)
        dice = random.Random(f"{self.seed} {found[0].scenario}")  # noqa: S311 - no secret
        return [found[number] for number in sorted(dice.sample(range(len(found)), self.most))]


def points(scenario: str, writes: int) -> list[Point]:
    """All crash points of a scenario."""
    return [Point(scenario, write, after) for write in range(1, writes + 1) for after in (False, True)]


def examine(laboratory: Laboratory, scenario: str, sample: Sample | None = None, width: int = WIDTH) -> list[Outcome]:
    """Run a scenario undisturbed and with a crash at each point; the undisturbed run comes first."""
    since = audit_log.now()
    wanted = laboratory.undisturbed(scenario)
    outcomes = [wanted]
    if not wanted.complaints:
        with ThreadPoolExecutor(width) as pool:
            found = points(scenario, wanted.writes)
            chosen = sample.of(found) if sample is not None else found
            outcomes += pool.map(partial(laboratory.crashed, wanted=wanted), chosen)
        laboratory.judge(outcomes, since)
    return outcomes


def _wait_quiet(operator: ProxiedOperator) -> None:
    """A second without a write is how the end is known."""
    seen, since = len(operator.writes()), working_seconds()

    def quiet() -> bool:
        nonlocal seen, since
        operator.tend()
        if (now := len(operator.writes())) != seen:
            seen, since = now, working_seconds()
        return working_seconds() - since >= QUIET

    until("the operator to rest", quiet, deadline=60)


def main() -> int:
    """Examine scenarios, say what is wrong, and print the figures as one JSON line."""
    parser = argparse.ArgumentParser(prog="python -m harness.experiments.crash_points", description=__doc__)
    full = os.environ.get("PROOF_SIZE", "full") == "full"
    parser.add_argument("--scenario", action="append", help="only this one; may be given several times")
    parser.add_argument("--most", type=int, default=0 if full else 8, help="crash points of a scenario; 0: all")
    parser.add_argument("--seed", default="0", help="by which a sample is drawn")
    parser.add_argument("--width", type=int, default=WIDTH, help="runs at a time")
    chosen = parser.parse_args()
    outcomes: list[Outcome] = []
    sample = Sample(chosen.most, chosen.seed) if chosen.most else None
    with cluster_lock.borrowed(Cluster(chosen_index())) as cluster, stage(cluster) as ready:
        place = Laboratory(ready)
        for name in chosen.scenario or all_scenarios():
            began = time.monotonic()
            found = examine(place, name, sample, chosen.width)
            outcomes += found
            print(f"{name}: {len(found) - 1} runs, {time.monotonic() - began:.0f} s", file=sys.stderr)
            for outcome in found:
                for said in outcome.complaints:
                    print(f"  {outcome.point}: {said}", file=sys.stderr)
                if outcome.point is not None and not outcome.kills:
                    print(f"  {outcome.point}: not reached, with {outcome.writes} writes", file=sys.stderr)
    crashed = [outcome for outcome in outcomes if outcome.point is not None]
    figures = {
        "scenarios": len(outcomes) - len(crashed),
        "crash points": len(crashed),
        "killed": sum(outcome.kills > 0 for outcome in crashed),
        "wrong": sum(bool(outcome.complaints) for outcome in outcomes),
        "slowest s": round(max((outcome.seconds for outcome in crashed), default=0.0), 1),
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
