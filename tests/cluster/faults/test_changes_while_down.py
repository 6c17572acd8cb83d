"""F3: what happened while nobody looked, and events that were lost or came in another order."""

from collections.abc import Callable

from harness.drivers.environment import Stage, times
from harness.drivers.proxied_operator import ProxiedOperator
from harness.scenarios.many_jobs import Fleet
from testbed.faultproxy import DropEvents, MatchEvents, ReorderEvents, SendGone

PODS = 4
JOBS = times(10, 250)


def test_deletions_while_the_operator_is_away(
    ready_stage: Stage, fleet: Fleet, operator: ProxiedOperator, record_property: Callable[[str, object], None]
) -> None:
    """Pods, Services and whole jobs go; what is still wanted comes back, and nothing else is left."""
    record_property("repetitions", JOBS * PODS)
    names = [f"away-{number}" for number in range(JOBS)]
    fleet.create(names, {"Worker": PODS}, restartScope="Replica")
    fleet.until_pods(JOBS * PODS)
    fleet.run(fleet.pods())
    fleet.until_all(state="Running")
    operator.kill()
    gone, kept = names[::2], names[1::2]
    fleet.take([pod for name in kept for pod in fleet.pods() if pod.startswith(f"{name}-worker-")])
    server = ready_stage.watcher.connection
    services = f"/api/v1/namespaces/{fleet.namespace}/services"
    server.each(kept, lambda name: server.call("DELETE", f"{services}/{name}"))
    fleet.delete_jobs(gone)
    operator.start()
    fleet.until("the pods of the jobs that stay", lambda: _replaced(fleet, kept), len(kept) * PODS)
    wanted = {f"{name}-worker-{index}" for name in kept for index in range(PODS)}
    fleet.until("nothing else to be left", lambda: _reaped(fleet) - wanted, set())
    fleet.run(fleet.pods())
    fleet.until_all(state="Running")
    watcher = ready_stage.watcher
    fleet.until("their Services and no others", lambda: set(watcher.all("services", fleet.namespace)), set(kept))


def test_lost_events_are_made_good_when_the_watch_ends(
    fleet: Fleet, operator: ProxiedOperator, record_property: Callable[[str, object], None]
) -> None:
    """Every event about pods is swallowed until the watch is ended by a 410."""
    record_property("repetitions", JOBS * PODS)
    names = [f"lost-{number}" for number in range(JOBS)]
    fleet.create(names, {"Worker": PODS}, restartScope="Replica")
    fleet.until_pods(JOBS * PODS)
    fleet.until_all(ready=f"0/{PODS}")
    swallowed = operator.proxy.inject(MatchEvents(resource="pods", times=None), DropEvents())
    fleet.run(fleet.pods())
    taken = [pod for pod in fleet.pods() if pod.endswith("-0")]
    fleet.take(taken)
    fleet.until("the events to be swallowed", lambda: swallowed.fired >= JOBS * PODS + len(taken))
    operator.proxy.clear()
    operator.proxy.inject(MatchEvents(resource="pods"), SendGone())
    fleet.create(["marker"], {"Worker": 1})  # its pod is the event in whose place the watch ends
    fleet.until_pods(JOBS * PODS + 1)
    fleet.until("all that was missed to be counted", lambda: _count(fleet, f"{PODS - 1}/{PODS}"), JOBS)


def test_events_in_another_order(
    fleet: Fleet, operator: ProxiedOperator, record_property: Callable[[str, object], None]
) -> None:
    """Each three events about pods come in reverse."""
    record_property("repetitions", JOBS * PODS)
    operator.proxy.inject(MatchEvents(resource="pods", times=None), ReorderEvents(window=3))
    fleet.create([f"mixed-{number}" for number in range(JOBS)], {"Worker": PODS})
    fleet.until_pods(JOBS * PODS)
    fleet.run(fleet.pods())
    fleet.until("all to be seen running", lambda: _count(fleet, f"{PODS}/{PODS}") >= JOBS - 2)
    operator.proxy.clear()  # two events may still wait for a third
    fleet.until_all(state="Running")
    assert set(fleet.ever().values()) == {1}


def _replaced(fleet: Fleet, names: list[str]) -> int:
    return sum(pod.rpartition("-worker-")[0] in names for pod in fleet.pods())


def _reaped(fleet: Fleet) -> set[str]:
    """What is there after the node has ended all that was told to go so far; the garbage collector takes its time."""
    fleet.take(fleet.leaving())
    return {*fleet.pods(), *fleet.leaving()}


def _count(fleet: Fleet, ready: str) -> int:
    return sum(status.get("ready") == ready for status in fleet.statuses().values())
