"""F4 and F5: watches that hang without a word, and history that is no longer kept."""

import time
from collections.abc import Callable, Iterator

import pytest

from harness.drivers.environment import FULL, Stage, times
from harness.drivers.proxied_operator import ProxiedOperator
from harness.scenarios.many_jobs import Fleet
from testbed.faultproxy import DropEvents, Freeze, Match, MatchEvents, SendGone
from testbed.faults import Faults
from testbed.waiting import until, working_seconds

SILENCE = 70.0 if FULL else 4.0  # seconds; the first is what users have
RECOVERED = 5.0 if FULL else 45.0  # CI's machine is busy; unnoticed, or with what users have, it would take 70 and more
DETECTED = SILENCE + RECOVERED
LISTS = 10.0  # seconds between two lists of one resource
CACHES = 3  # of pods: those of jobs, those that build images, and those that serve


@pytest.fixture
def impatient(ready_stage: Stage, namespace: str) -> Iterator[ProxiedOperator]:
    """An operator that waits so long for a silent watch."""
    arguments = ("--no-leader-election", "--namespace", namespace, "--watch-silence-seconds", str(SILENCE))
    with ProxiedOperator(ready_stage, namespace, arguments) as running:
        running.start()
        yield running


def test_a_half_open_watch_is_noticed(
    ready_stage: Stage, namespace: str, impatient: ProxiedOperator, record_property: Callable[[str, object], None]
) -> None:
    """The connection stays open and nothing comes: of pods, and of jobs."""
    fleet = Fleet(ready_stage, namespace, tend=impatient.insist)
    fleet.create(["before"], {"Worker": 2})
    fleet.until_pods(2)
    frozen = [impatient.proxy.inject(MatchEvents(resource=resource), Freeze()) for resource in ("pods", "tfjobs")]
    fleet.run(fleet.pods())
    fleet.create(["after"], {"Worker": 1})
    for rule in frozen:
        rule.wait_fired()
    began = working_seconds()
    fleet.until_pods(3, deadline=2 * DETECTED)
    fleet.until("the running pods to be seen", lambda: fleet.statuses()["before"]["ready"], "2/2", 2 * DETECTED)
    seconds = working_seconds() - began
    record_property("seconds", round(seconds, 1))
    record_property("repetitions", len(frozen))
    assert seconds <= DETECTED


def test_a_watch_whose_history_is_gone_starts_anew(
    fleet: Fleet, operator: ProxiedOperator, record_property: Callable[[str, object], None]
) -> None:
    """A 410 in place of an event, again and again: each time nothing is lost, and lists stay rare."""
    rounds = times(2, 20)
    record_property("repetitions", rounds)
    began, worst = time.monotonic(), 0.0
    fleet.create(["first"], {"Worker": 1})
    fleet.until_pods(1)
    for number in range(rounds):
        _wait(LISTS + 1)  # so that nothing but the 410 itself delays the recovery
        gone = operator.proxy.inject(MatchEvents(resource="pods"), SendGone())
        fleet.create([f"job-{number}"], {"Worker": 1})  # its pod is the event that does not arrive
        gone.wait_fired()
        at = working_seconds()
        fleet.until_pods(number + 2)
        fleet.run([f"job-{number}-worker-0"])
        fleet.until("its pod to be seen", lambda name=f"job-{number}": fleet.statuses()[name].get("ready"), "1/1")  # type: ignore[misc]
        worst = max(worst, working_seconds() - at)
    record_property("seconds", round(worst, 1))
    lists = operator.count("watch", "pods")
    assert worst <= RECOVERED
    assert lists <= CACHES + (time.monotonic() - began) / LISTS


def test_a_server_that_has_no_history_at_all_is_not_stormed(fleet: Fleet, operator: ProxiedOperator) -> None:
    """Every watch of pods is answered 410 at once, for a while; then all is made good."""
    fleet.create(["before"], {"Worker": 1})
    fleet.until_pods(1)
    fleet.until_all(ready="0/1")
    began = operator.count("watch", "pods")
    operator.proxy.inject(MatchEvents(resource="pods"), SendGone())
    operator.proxy.inject(Match(verb="watch", resource="pods", times=None), SendGone())
    fleet.run(["before-worker-0"])
    seconds = times(15, 60)
    _wait(seconds)
    assert operator.count("watch", "pods") - began <= 10
    operator.proxy.clear()
    fleet.until_all(ready="1/1")


@pytest.mark.disruptive
def test_a_compaction_loses_nothing(fleet: Fleet, operator: ProxiedOperator, faults: Faults) -> None:
    """No bookmark tells how far the world has come; then history is compacted and the server restarts."""
    fleet.create(["old"], {"Worker": 2})
    fleet.until_pods(2)
    operator.proxy.inject(MatchEvents(type="BOOKMARK", times=None), DropEvents())
    fleet.run(["old-worker-0"])
    fleet.until_all(ready="1/2")
    hidden = operator.proxy.inject(MatchEvents(resource="pods", times=None), DropEvents())
    fleet.run(["old-worker-1"])
    hidden.wait_fired()
    faults.compact()
    down = working_seconds()
    with faults.dead("kube-apiserver"):
        # Not before: a bookmark that comes through, were it one of the last words of the server that died, would carry
        # the operator past what was hidden from it.
        until("the end of every watch", lambda: operator.proxy.watches == 0, deadline=60)
        operator.proxy.clear()
    at = working_seconds()
    fleet.until_all(ready="2/2", deadline=300)
    # Who finds the server dead waits before he asks again, never more than twice as long as it has been dead by then.
    # On a busy machine a server that starts may leave a watch without a word, which is given up after 70 seconds.
    assert working_seconds() - at <= RECOVERED + LISTS + 2 * (at - down) + (0 if FULL else 90)
    fleet.create(["new"], {"Worker": 1})
    fleet.until_pods(3)


def _wait(seconds: float) -> None:
    """Let time pass: the rule that is tested is one of rates."""
    end = time.monotonic() + seconds
    until("time to pass", lambda: time.monotonic() >= end, deadline=seconds + 5)
