"""F6: a creation that committed and was answered with an error; and a name that is somebody else's."""

from collections.abc import Callable

from harness.drivers.environment import Stage, times
from harness.drivers.proxied_operator import ProxiedOperator
from harness.scenarios.many_jobs import Fleet
from testbed.faultproxy import AnswerAfterCommit, DropAfterCommit, Match

PODS = 4
JOBS = times(10, 250)


def test_a_pod_whose_creation_went_unanswered_is_recognised(
    fleet: Fleet, operator: ProxiedOperator, record_property: Callable[[str, object], None]
) -> None:
    """Half of them are answered 504, half not at all; each pod is made once, and every job runs."""
    record_property("repetitions", JOBS * PODS)
    lost = operator.proxy.inject(Match(verb="create", resource="pods", times=JOBS * PODS // 2), AnswerAfterCommit(504))
    dropped = operator.proxy.inject(Match(verb="create", resource="pods", times=None), DropAfterCommit())
    fleet.create([f"lost-{number}" for number in range(JOBS)], {"Worker": PODS})
    fleet.until_pods(JOBS * PODS)
    fleet.run(fleet.pods())
    fleet.until_all(state="Running")
    assert lost.fired + dropped.fired >= JOBS * PODS
    assert set(fleet.ever().values()) == {1}


def test_a_stranger_of_the_same_name_is_never_adopted(ready_stage: Stage, fleet: Fleet) -> None:
    """The job says what is in its way, and goes on when it is gone."""
    server = ready_stage.watcher.connection
    container = {"name": "main", "image": "none"}
    spec = {"nodeName": ready_stage.node, "containers": [container]}
    stranger = server.create(fleet.pods_path, {"metadata": {"name": "blocked-worker-1"}, "spec": spec})
    fleet.create(["blocked"], {"Worker": 2})
    fleet.until("the reason to be told", lambda: str(_reason(fleet)).endswith("NameTaken"))
    found = server.get(f"{fleet.pods_path}/blocked-worker-1")
    assert found["metadata"]["uid"] == stranger["metadata"]["uid"]
    assert "ownerReferences" not in found["metadata"]
    fleet.take(["blocked-worker-1"])
    fleet.until_pods(2)
    fleet.run(fleet.pods())
    fleet.until_all(state="Running")


def _reason(fleet: Fleet) -> str | None:
    conditions = fleet.statuses().get("blocked", {}).get("conditions", [])
    return next((condition["reason"] for condition in conditions if condition["type"] == "Blocked"), None)
