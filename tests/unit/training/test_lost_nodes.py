"""Pods on lost nodes: replaced after the grace, left alone in an outage and where the template says so."""

from typing import Any

import pytest

from kubedl.api.conditions import find, is_true
from kubedl.training.plan import Plan
from kubedl.training.policies.node_outage import Outage
from tests.training_builders import NOW, JobBuilder, after, decide, pod, tf_job, torch_job

GANG = torch_job().master().workers(2).with_status(start_time=NOW)
ALL = Outage(30, 30)
LOST = {"node1": 0, "node2": 0, "node3": 0}


def on_nodes(job: JobBuilder) -> list[Any]:
    """Every pod of the job runs, each on a node of its own."""
    return [
        pod(job, "Master").on("node1").running(),
        pod(job, "Worker", 0).on("node2").running(),
        pod(job, "Worker", 1).on("node3").running(),
    ]


def tolerating(seconds: int | None) -> JobBuilder:
    """A job whose workers stay on lost nodes."""
    toleration: dict[str, Any] = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    if seconds is not None:
        toleration["tolerationSeconds"] = seconds
    template = GANG.template()
    template["spec"]["tolerations"] = [toleration]
    return GANG.workers(2, template=template)


def forced(decided: Plan) -> list[str]:
    """The pods that are deleted by force."""
    return [one.pod.metadata.name for one in decided.deletions if one.force]


def written(job: JobBuilder, decided: Plan) -> JobBuilder:
    """The job after the plan's status was written."""
    return job.with_status(**{name: getattr(decided.status, name) for name in decided.status.__struct_fields__})


@pytest.mark.parametrize("job", [GANG, GANG.scope("Replica")])
def test_in_an_outage_nobody_is_replaced_and_the_job_says_so(job: JobBuilder) -> None:
    """The pods may still run; they are looked at again, and said of once."""
    decided = decide(job, *on_nodes(job), lost_nodes=LOST, outage=ALL, now=120)
    assert (decided.deletions, decided.creations, decided.status.attempt) == ((), (), 0)
    found = find(decided.status.conditions, "NodesLost")
    assert found is not None
    assert (found.status, found.reason) == ("True", "TooManyNodesLost")
    assert (
        found.message == "30 of 30 nodes are lost (all): 3 pods on lost nodes not replaced, because they may still run"
    )
    assert [event.reason for event in decided.events if event.type == "Warning"] == ["TooManyNodesLost"]
    assert decided.wake_at == after(150)
    again = decide(written(job, decided), *on_nodes(job), lost_nodes=LOST, outage=Outage(20, 30), now=150)
    assert (again.status, again.events) == (written(job, decided).status, ())


def test_before_the_grace_is_over_nothing_is_said() -> None:
    """Nodes come back every day."""
    decided = decide(GANG, *on_nodes(GANG), lost_nodes=LOST, outage=ALL, now=59)
    assert find(decided.status.conditions, "NodesLost") is None
    assert decided.wake_at == after(60)


def test_after_an_outage_the_condition_is_withdrawn() -> None:
    """And the job has lost nothing."""
    before = GANG.said("NodesLost", reason="TooManyNodesLost")
    decided = decide(before, *on_nodes(GANG), now=120)
    assert not is_true(decided.status.conditions, "NodesLost")
    assert (decided.deletions, decided.status.attempt) == ((), 0)


def test_whoever_is_still_lost_when_the_outage_ends_is_replaced() -> None:
    """As after any loss."""
    before = GANG.said("NodesLost", reason="TooManyNodesLost")
    decided = decide(before, *on_nodes(GANG), lost_nodes={"node3": 0}, now=120)
    assert decided.status.attempt == 1
    assert "resnet-worker-1" in forced(decided)
    assert not is_true(decided.status.conditions, "NodesLost")


def test_one_lost_node_of_many_is_given_up() -> None:
    """No outage, as before."""
    decided = decide(GANG.scope("Replica"), *on_nodes(GANG), lost_nodes={"node3": 0}, now=60)
    assert forced(decided) == ["resnet-worker-1"]
    assert find(decided.status.conditions, "NodesLost") is None


@pytest.mark.parametrize("ended", ["suspended", "failed", "finished"])
def test_in_an_outage_nothing_is_forced_for_other_reasons_either(ended: str) -> None:
    """Whoever must go is told so, and goes when its kubelet is back."""
    job = {
        "suspended": GANG.suspended(),
        "failed": GANG.with_spec(activeDeadlineSeconds=100),
        "finished": GANG.said("Failed").with_status(completion_time=NOW),
    }[ended]
    decided = decide(job, *on_nodes(GANG), lost_nodes=LOST, outage=ALL, now=120)
    assert len(decided.deletions) == 3
    assert forced(decided) == []
    assert decided.wake_at == after(150)
    assert not is_true(decided.status.conditions, "NodesLost")


@pytest.mark.parametrize(
    ("seconds", "now", "goes"),
    [(300, 299, False), (300, 300, True), (None, 10**8, False), (5, 59, False), (5, 60, True)],
)
def test_a_template_that_tolerates_lost_nodes_is_heeded(seconds: int | None, now: float, goes: bool) -> None:
    """Longer than the administrator's grace, or for ever; never shorter."""
    job = tolerating(seconds).scope("Replica")
    decided = decide(job, *on_nodes(job), lost_nodes={"node3": 0}, now=now)
    assert forced(decided) == (["resnet-worker-1"] if goes else [])
    found = find(decided.status.conditions, "NodesLost")
    assert (found.reason if found is not None else None) == ("LossTolerated" if not goes and now >= 60 else None)
    if seconds is not None and not goes:
        assert decided.wake_at == after(max(seconds, 60))


def test_the_tolerance_is_a_roles() -> None:
    """Only the workers have it here."""
    job = tolerating(None).scope("Replica")
    assert forced(decide(job, *on_nodes(job), lost_nodes=LOST, now=60)) == ["resnet-master-0"]


def test_a_dead_survivor_restarts_the_job_without_force() -> None:
    """Its death is real, outage or not; those on lost nodes go when their kubelets are back."""
    decided = decide(
        GANG, on_nodes(GANG)[0].failed(1), *on_nodes(GANG)[1:], lost_nodes={"node2": 0, "node3": 0}, outage=ALL, now=120
    )
    assert decided.status.attempt == 1
    assert len(decided.deletions) == 3
    assert forced(decided) == []


def test_a_job_of_one_kind_knows_no_lost_nodes() -> None:
    """Without the right to see nodes nothing is lost."""
    job = tf_job().workers(1)
    assert decide(job, pod(job, "Worker").on("node1").running(), now=999).deletions == ()
