"""F2: caches that lag behind the operator's own writes, and behind other people's."""

from collections.abc import Awaitable, Callable

from harness.drivers.api_connection import Connection
from harness.drivers.environment import Stage, times
from harness.drivers.proxied_operator import ProxiedOperator
from harness.scenarios.many_jobs import Fleet
from testbed.api import Object
from testbed.faultproxy import DelayEvents, MatchEvents

PODS = 4  # of each job
JOBS = times(10, 250)


def test_nothing_is_made_twice_while_events_are_held(
    fleet: Fleet, operator: ProxiedOperator, record_property: Callable[[str, object], None]
) -> None:
    """The operator does not see the pods that it made; however often its jobs change, it makes none again."""
    record_property("repetitions", JOBS * PODS)
    names = [f"held-{number}" for number in range(JOBS)]
    operator.proxy.inject(MatchEvents(resource="pods", times=None), DelayEvents(3600))
    fleet.create(names, {"Worker": PODS})
    fleet.until_pods(JOBS * PODS)
    fleet.until("every job to have a status", lambda: sum(map(bool, fleet.statuses().values())), JOBS)
    for number in range(3):
        fleet.change(names, {"metadata": {"annotations": {"touched": str(number)}}})
    fleet.create(["marker"], {"Worker": 1})  # comes after all the others in the queue
    fleet.until_pods(JOBS * PODS + 1)
    # A pod may be seen before the answer to who made it.
    fleet.until("all creations", lambda: operator.count("create", "pods") > JOBS * PODS)
    assert operator.count("create", "pods") == JOBS * PODS + 1
    operator.proxy.clear()
    fleet.run(fleet.pods())
    fleet.until_all(state="Running")
    assert operator.count("create", "pods") == JOBS * PODS + 1


def test_a_delete_hits_only_the_pod_that_was_seen(
    ready_stage: Stage, fleet: Fleet, operator: ProxiedOperator, record_property: Callable[[str, object], None]
) -> None:
    """Every pod is replaced by another of the same name unseen; what is then deleted by name alone would be wrong."""
    record_property("repetitions", JOBS * PODS)
    names = [f"swapped-{number}" for number in range(JOBS)]
    fleet.create(names, {"Worker": PODS}, restartScope="Replica")
    fleet.until_pods(JOBS * PODS)
    fleet.run(fleet.pods())
    fleet.until_all(state="Running")
    operator.proxy.inject(MatchEvents(resource="pods", times=None), DelayEvents(3600))
    originals = fleet.pods()
    fleet.take(originals)
    ready_stage.watcher.connection.each(originals.values(), _remake(ready_stage.watcher.connection, fleet))
    fleet.until(
        "the others to be seen", lambda: _uids(fleet).isdisjoint(_uids_of(originals)) and len(fleet.pods()), JOBS * PODS
    )
    others = _uids(fleet)
    fleet.change(names, {"spec": {"suspend": True}})
    fleet.until(
        "every pod to have been deleted by its old uid", lambda: operator.count("delete", "pods") >= JOBS * PODS
    )
    assert _uids(fleet) == others
    assert {call.status for call in operator.proxy.calls if (call.verb, call.resource) == ("delete", "pods")} == {409}


def _remake(connection: Connection, fleet: Fleet) -> Callable[[Object], Awaitable[None]]:
    async def remake(pod: Object) -> None:
        meta = {name: pod["metadata"][name] for name in ("name", "labels", "ownerReferences")}
        spec = {name: pod["spec"][name] for name in ("containers", "nodeName", "restartPolicy")}
        await connection.call("POST", fleet.pods_path, {"metadata": meta, "spec": spec})

    return remake


def _uids(fleet: Fleet) -> set[str]:
    return _uids_of(fleet.pods())


def _uids_of(pods: dict[str, Object]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods.values()}
