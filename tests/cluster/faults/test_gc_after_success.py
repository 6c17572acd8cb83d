"""F11: pods that succeeded and were garbage-collected at once never run again."""

from collections.abc import Callable, Collection

from harness.drivers.environment import times
from harness.drivers.proxied_operator import ProxiedOperator
from harness.scenarios.many_jobs import Fleet
from testbed.faultproxy import DelayEvents, MatchEvents

PODS = 10
JOBS = times(5, 100)


def test_a_succeeded_replica_never_runs_again(
    fleet: Fleet, operator: ProxiedOperator, record_property: Callable[[str, object], None]
) -> None:
    """Each pod is gone by the time that its success is heard of, all but one of each job first."""
    record_property("repetitions", JOBS * PODS)
    names = [f"collected-{number}" for number in range(JOBS)]
    fleet.create(names, {"Worker": PODS}, restartScope="Replica", successPolicy="AllWorkers", cleanPodPolicy="None")
    fleet.until_pods(JOBS * PODS)
    fleet.run(fleet.pods())
    fleet.until_all(state="Running")
    last = {f"{name}-worker-0" for name in names}
    first = sorted(set(fleet.pods()) - last)
    _end_unseen(fleet, operator, first)
    fleet.until("all successes to be written down", lambda: _recorded(fleet, f"1-{PODS - 1}"), JOBS)
    _end_unseen(fleet, operator, last)
    fleet.until_all(state="Succeeded")
    assert operator.count("create", "pods") == JOBS * PODS
    assert set(fleet.ever().values()) == {1}


def _end_unseen(fleet: Fleet, operator: ProxiedOperator, pods: Collection[str]) -> None:
    operator.proxy.inject(MatchEvents(resource="pods", times=None), DelayEvents(3600))
    fleet.end(pods)
    fleet.take(pods)
    operator.proxy.clear()


def _recorded(fleet: Fleet, indexes: str) -> int:
    return sum(
        status["replicaStatuses"]["Worker"]["succeededIndexes"] == indexes for status in fleet.statuses().values()
    )
