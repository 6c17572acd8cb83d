"""Leaders that die, and leaders that stand still, in pods and under load: another goes on, and nobody goes twice."""

import itertools
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from harness.drivers import audit_log
from harness.drivers.environment import FULL, times
from harness.drivers.installation import NAMESPACE, RESTRICTED, USER, Installation
from testbed import namespaces
from testbed.api import Object
from testbed.waiting import stolen_seconds, until
from tests.e2e.install.jobs import Team, job
from tests.e2e.training import containers
from tests.sampling import unless_drawn

ROUNDS = times(2, 25)
# Seconds. A Lease runs out after 15 and is looked at every 2; what is left for calls is too little for a busy machine.
TAKEOVER = 20.0 if FULL else 60.0
FROZEN = 20.0
PACE = 1.0  # seconds between two jobs
REFUSED = 400
UNDER_WAY = timedelta(seconds=1)  # a write of a process that is dead may still be on its way to the log

FALLS = ("killed", "frozen")

Record = Callable[[str, object], None]


class Gap(NamedTuple):
    """Seconds until another wrote, and those of them that the machine's host took."""

    seconds: float
    stolen: float


@dataclass
class Takeovers:
    """What became of them."""

    gaps: list[Gap] = field(default_factory=list)
    pods: Counter[str] = field(default_factory=Counter)  # how often each was made
    late: int = 0  # writes of leaders that woke up
    renewed: int = 0  # Leases that they wrote
    seconds: float = 0.0  # of load

    def slowest(self) -> float:
        """The longest time until another wrote, had the machine been ours."""
        return max(gap.seconds - gap.stolen for gap in self.gaps)


@unless_drawn("killed", FALLS, "the fall of a leader")
def test_another_goes_on_when_the_leader_is_killed(
    installation: Installation, base_image: str, record_property: Record
) -> None:
    """In time, and no pod is made twice: both by the audit log."""

    def fall(found: Takeovers, leader: Object, fell: audit_log.Moment) -> None:
        containers.kill(installation.cluster, leader)
        dead = audit_log.now() + UNDER_WAY
        # It may be the same pod: its next container stands in line as the other pod does.
        found.gaps.append(_until_written(installation, fell, lambda write: write.at > dead))

    found = _rounds(installation, base_image, fall)
    _record(found, record_property)
    assert found.slowest() < TAKEOVER
    assert set(found.pods.values()) == {1}


@unless_drawn("frozen", FALLS, "the fall of a leader")
def test_a_leader_that_was_frozen_has_nothing_more_to_say(
    installation: Installation, base_image: str, record_property: Record
) -> None:
    """Another writes in time; who wakes up ends without a write, and no pod is made twice."""

    def fall(found: Takeovers, leader: Object, fell: audit_log.Moment) -> None:
        gap, woke = _frozen(installation, leader, fell)
        found.gaps.append(gap)
        # Whoever comes after it in the same pod does not lead while the other does.
        for write in audit_log.writes(installation.cluster, USER, woke, leases=True):
            if write.pod == leader["metadata"]["name"]:
                found.late += write.resource != audit_log.LEASES
                # One that was ready to go is refused, since it names a version that another has written since.
                found.renewed += write.resource == audit_log.LEASES and write.code < REFUSED

    found = _rounds(installation, base_image, fall)
    _record(found, record_property)
    record_property("writes after waking", found.late)
    record_property("Leases after waking", found.renewed)
    assert found.slowest() < TAKEOVER
    assert (set(found.pods.values()), found.late, found.renewed) == ({1}, 0, 0)


def _record(found: Takeovers, record_property: Record) -> None:
    record_property("rounds", len(found.gaps))
    record_property("slowest seconds", max(gap.seconds for gap in found.gaps))
    record_property("pods", len(found.pods))
    record_property("jobs a second", round(len(found.pods) / found.seconds, 2))
    record_property("twice", sum(count > 1 for count in found.pods.values()))


def _rounds(
    installation: Installation, image: str, fall: Callable[[Takeovers, Object, audit_log.Moment], None]
) -> Takeovers:
    """One leader after the other falls, under load."""
    cluster, since, found = installation.cluster, audit_log.now(), Takeovers()
    with namespaces.fresh(cluster.api, "team", RESTRICTED) as namespace:
        team = Team(cluster, namespace)
        began = time.monotonic()
        with _load(team, image):
            for _ in range(ROUNDS):
                leader = installation.until_led(deadline=180)
                fall(found, leader, audit_log.now())
                # A container that ends often is restarted later each time, which would be measured too.
                cluster.api.delete(f"/api/v1/namespaces/{NAMESPACE}/pods/{leader['metadata']['name']}")
        found.seconds = time.monotonic() - began
        until("every job to be done", lambda: set(team.states()) == {"Succeeded"}, deadline=300, interval=1)
        for write in audit_log.writes(cluster, USER, since):
            if (write.namespace, write.verb, write.resource, write.code) == (namespace, "create", "pods", 201):
                found.pods[write.name] += 1
    return found


def _frozen(installation: Installation, leader: Object, fell: audit_log.Moment) -> tuple[Gap, audit_log.Moment]:
    """The time without a leader, and when the frozen one woke up, which has ended since."""
    cluster, name = installation.cluster, leader["metadata"]["name"]
    containers.send(cluster, leader, signal.SIGSTOP)
    try:
        gap = _takeover(installation, leader, fell)
        until("its time to be over", lambda: (audit_log.now() - fell).total_seconds() > FROZEN, deadline=2 * FROZEN)
        woke = audit_log.now()
    finally:
        containers.send(cluster, leader, signal.SIGCONT)
    until("it to have ended", lambda: _restarts(installation, name) > _count(leader), deadline=60)
    return gap, woke


def _takeover(installation: Installation, leader: Object, fell: audit_log.Moment) -> Gap:
    """The time until somebody else wrote."""
    fallen = leader["metadata"]["name"]
    return _until_written(installation, fell, lambda write: write.pod != fallen)


def _until_written(
    installation: Installation, fell: audit_log.Moment, counts: Callable[[audit_log.Write], bool]
) -> Gap:
    def first() -> audit_log.Write:
        found = [write for write in audit_log.writes(installation.cluster, USER, fell) if counts(write)]
        if not found:
            raise TimeoutError("nobody has written")
        return found[0]

    before = stolen_seconds()
    written = until("another to write", first, deadline=120, interval=0.5)
    return Gap((written.at - fell).total_seconds(), stolen_seconds() - before)


@contextmanager
def _load(team: Team, image: str) -> Iterator[None]:
    """A small job every second, each of which wants a Service, a pod and several words of status."""
    ended, failures = threading.Event(), []

    def run() -> None:
        try:
            for number in itertools.count():
                team.create(job(f"load-{number}", image, "true", cleanPodPolicy="None"))
                if ended.wait(PACE):
                    return
        except BaseException as error:  # noqa: BLE001 told to whoever waits
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if failures:
        raise failures[0]


def _restarts(installation: Installation, name: str) -> int:
    return next((_count(pod) for pod in installation.pods() if pod["metadata"]["name"] == name), 0)


def _count(pod: Object) -> int:
    return sum(one["restartCount"] for one in pod["status"].get("containerStatuses") or ())
