"""Jobs in queues of Kueue: when they run, what they say, and when their quota is given back."""

from dataclasses import replace
from typing import Any

import pytest

from kubedl.api.conditions import Condition, find, is_true
from kubedl.api.kueue import QUEUE_LABEL
from kubedl.kube.codec import RawObject, encode
from kubedl.kube.types.meta import ObjectMeta
from kubedl.training import pods
from kubedl.training.gang.scheduler import InstalledScheduler
from kubedl.training.gang.schedulers import all_gang_schedulers
from kubedl.training.kueue import plan as workloads
from kubedl.training.kueue import workload as workload_objects
from kubedl.training.kueue.admission import apply_admission
from kubedl.training.kueue.observation import queue_name
from kubedl.training.kueue.queue import NOT_AVAILABLE, PENDING, Queue
from kubedl.training.kueue.types import (
    Admission,
    FlavorSpec,
    PodSetAssignment,
    ReclaimablePod,
    ResourceFlavor,
    Workload,
    WorkloadSpec,
    WorkloadStatus,
)
from kubedl.training.observed import Settings
from kubedl.training.plan import Plan
from kubedl.training.planner import plan
from tests.training_builders import NOW, JobBuilder, PodBuilder, observed, pod, tf_job, torch_job

JOB = torch_job().master().workers(2).with_spec(schedulingPolicy={"queue": "team"})
GIVES_WAY = JOB.said("Suspended")
SPOT = ResourceFlavor(
    metadata=ObjectMeta(name="spot"),
    spec=FlavorSpec(node_labels={"pool": "spot"}, tolerations=(RawObject(encode({"key": "spot"})),)),
)
HELD = Admission(cluster_queue="cq", pod_set_assignments=(PodSetAssignment(name="worker", flavors={"cpu": "spot"}),))


def said(kind: str, status: str = "True", reason: str = "Because", message: str = "why") -> Condition:
    return Condition(type=kind, status=status, reason=reason, message=message)  # type: ignore[arg-type]


def workload(*conditions: Condition, admission: Admission | None = None, **spec: Any) -> Workload:  # noqa: ANN401
    status = WorkloadStatus(conditions=conditions, admission=admission)
    meta = ObjectMeta(name="w", namespace="team", uid="u", generation=1, annotations={workloads.POD_SETS: "same"})
    return Workload(metadata=meta, spec=WorkloadSpec(**{"queue_name": "team", **spec}), status=status)


ADMITTED = workload(said("QuotaReserved"), said("Admitted"), admission=HELD)
EVICTED = workload(
    said("QuotaReserved"), said("Admitted"), said("Evicted", reason="Preempted", message="by team b"), admission=HELD
)


def planned(job: JobBuilder, found: Workload | None, *pods: PodBuilder, **queue: Any) -> Plan:  # noqa: ANN401
    """What is done for a job whose Workload is in this state."""
    state = Queue("team", workload=found, flavors={"spot": SPOT}, **queue)
    return plan(replace(observed(job, *pods), queue=state))


@pytest.mark.parametrize(
    ("found", "reason", "text"),
    [
        (None, PENDING, "waits in queue team"),
        (workload(), PENDING, "waits in queue team"),
        (workload(said("QuotaReserved", "False", "Pending", "4 more needed")), PENDING, "team: 4 more needed"),
        (workload(said("QuotaReserved", "False", "Inadmissible", "no such queue")), "Inadmissible", "no such queue"),
        (workload(said("QuotaReserved")), "AdmissionChecks", "admission checks"),
        (EVICTED, "Preempted", "by team b"),
    ],
)
def test_a_job_that_is_not_admitted_has_no_pods_and_says_why(found: Workload | None, reason: str, text: str) -> None:
    decided = planned(JOB, found)
    assert not decided.creations
    assert (decided.status.state, decided.status.reason) == ("Queuing", reason)
    assert text in decided.status.message
    assert decided.status.start_time is None


def test_without_kueue_a_queue_cannot_be_had() -> None:
    decided = planned(JOB, None, missing="the cluster has no Kueue")
    assert (decided.status.state, decided.status.reason, decided.creations) == ("Queuing", NOT_AVAILABLE, ())


def test_an_admitted_job_runs() -> None:
    waiting = planned(JOB, workload())
    job = JOB.with_status(conditions=waiting.status.conditions)
    resumed = planned(job, ADMITTED)
    assert not is_true(resumed.status.conditions, "Suspended")
    started = planned(job.with_status(conditions=resumed.status.conditions), ADMITTED)
    assert [made.replica.role for made in started.creations] == ["Master"]


def test_an_evicted_job_gives_its_pods_up_and_no_retry() -> None:
    job = JOB.with_spec(backoffLimit=0)
    running = [pod(job, "Master").running(), *(pod(job, "Worker", index).running() for index in (0, 1))]
    decided = planned(job, EVICTED, *running)
    assert (len(decided.deletions), decided.status.retries) == (3, 0)
    assert decided.status.state == "Queuing"


def written(job: JobBuilder, found: Workload | None, *, has_pods: bool = False, **more: Any) -> workloads.Plan:  # noqa: ANN401
    """What is written for the Workload of a job."""
    known = {"queue": "team", "pod_sets": "same", "scope": "Job", "now": NOW, **more}
    return workloads.plan(workloads.Observed(job.build(), workload=found, has_pods=has_pods, **known))


def test_a_job_with_a_queue_has_a_workload_until_it_ends() -> None:
    assert written(JOB, None).create
    assert not written(JOB, None, queue="").create
    assert not written(JOB.said("Succeeded"), None).create
    assert written(JOB, workload(), queue="").delete


def test_quota_is_given_back_when_the_last_pod_is_gone() -> None:
    """And not before the job has seen that it must create none: one that was just created is in no cache."""
    assert written(GIVES_WAY, EVICTED, has_pods=True).status is None
    assert written(JOB, EVICTED).status is None
    released = written(GIVES_WAY, EVICTED).status
    assert released is not None
    assert released.admission is None
    told = {one.type: (one.status, one.reason) for one in released.conditions}
    assert told["QuotaReserved"] == ("False", "Pending")
    assert told["Admitted"] == ("False", "NoReservation")
    assert told["Requeued"] == ("True", "Preempted")
    assert told["Evicted"] == ("True", "Preempted")
    again = msgspec_with(EVICTED, released)
    assert written(GIVES_WAY, again) == workloads.Plan()


def msgspec_with(found: Workload, status: WorkloadStatus) -> Workload:
    return Workload(metadata=found.metadata, spec=found.spec, status=status)


def test_a_job_that_was_deactivated_is_not_queued_again_by_itself() -> None:
    evicted = workload(said("Admitted"), said("Evicted", reason="Deactivated"), admission=HELD)
    released = written(GIVES_WAY, evicted).status
    assert released is not None
    assert find(released.conditions, "Requeued") is not None
    assert not is_true(released.conditions, "Requeued")


@pytest.mark.parametrize("ending", ["Succeeded", "Failed"])
def test_a_job_that_ended_needs_no_quota(ending: str) -> None:
    ended = written(JOB.said(ending), ADMITTED).status
    assert ended is not None
    condition = find(ended.conditions, "Finished")
    assert condition is not None
    assert (condition.status, condition.reason) == ("True", ending)
    assert written(JOB.said(ending), msgspec_with(ADMITTED, ended)).status is None


def test_pods_ready_is_passed_on() -> None:
    ready = written(JOB.said("PodsReady"), ADMITTED).status
    assert ready is not None
    assert is_true(ready.conditions, "PodsReady")
    assert written(JOB, ADMITTED).status is None


def test_a_job_that_recovers_is_given_the_time_for_that() -> None:
    """Kueue measures from its admission while it starts, and from the failure while it recovers."""
    found = ADMITTED
    reasons = []
    for job in (JOB.said("PodsReady"), JOB, JOB, JOB.said("PodsReady"), JOB):
        status = written(job, found).status
        found = found if status is None else msgspec_with(found, status)
        condition = find(found.status.conditions, "PodsReady")
        assert condition is not None
        reasons.append(condition.reason)
    assert reasons == ["Started", "WaitForRecovery", "WaitForRecovery", "Recovered", "WaitForRecovery"]


def test_a_job_that_gave_its_quota_back_starts_anew() -> None:
    conditions = (*EVICTED.status.conditions, said("PodsReady", reason="Started"))
    running = WorkloadStatus(conditions=conditions, admission=HELD)
    released = written(GIVES_WAY, msgspec_with(EVICTED, running)).status
    assert released is not None
    condition = find(released.conditions, "PodsReady")
    assert condition is not None
    assert (condition.status, condition.reason) == ("False", "WaitForStart")


def test_quota_of_replicas_that_have_succeeded_is_given_back_unless_they_may_run_again() -> None:
    job = tf_job().workers(3).counted("Worker", succeeded=2)
    given = written(job, ADMITTED, scope="Replica").status
    assert given is not None
    assert given.reclaimable_pods == (ReclaimablePod(name="worker", count=2),)
    assert written(job, ADMITTED, scope="Job").status is None


def test_a_suspended_job_leaves_its_queue() -> None:
    assert written(JOB.suspended(), workload()).spec == {"active": False}
    assert written(JOB, workload(active=False)).spec == {"active": True}
    assert written(JOB, workload(queue_name="other")).spec == {"queueName": "team"}
    assert written(JOB, workload(said("QuotaReserved"), queue_name="other")).spec is None


def test_the_label_of_kueue_comes_first_and_volcano_keeps_its_own_queues() -> None:
    def name(job: JobBuilder, gang: str = "auto") -> str:
        known = {one: InstalledScheduler(scheduler) for one, scheduler in all_gang_schedulers().items()}
        return queue_name(job.kind.job(job.build()), Settings(gang_scheduler=gang, gang_schedulers=known))

    assert name(JOB) == "team"
    assert name(JOB, "native") == "team"
    assert name(JOB, "volcano") == ""
    assert name(JOB.with_metadata(labels={QUEUE_LABEL: "mine"}), "volcano") == "mine"
    assert name(torch_job().master()) == ""


def test_a_workload_has_a_pod_set_for_each_role_and_always_a_priority() -> None:
    whole = JOB.kind.job(JOB.build())
    body = workload_objects.render(JOB.kind, whole, "team", 0, None, {})
    assert [(one["name"], one["count"]) for one in body["spec"]["podSets"]] == [("master", 1), ("worker", 2)]
    assert body["spec"]["priority"] == 0
    assert body["metadata"]["ownerReferences"][0]["controller"]


def test_pods_go_to_the_nodes_of_their_flavor() -> None:
    whole = JOB.kind.job(JOB.build())
    queue = Queue("team", workload=ADMITTED, flavors={"spot": SPOT})
    bodies = {
        replica.role: pods.render(JOB.kind, whole, replica, 0, scope="Job", settings=Settings())
        for replica in whole.replicas()
    }
    for role, body in bodies.items():
        apply_admission(body, role, queue)
    assert bodies["Worker"]["spec"]["nodeSelector"] == {"pool": "spot"}
    assert bodies["Worker"]["spec"]["tolerations"] == [{"key": "spot"}]
    assert "nodeSelector" not in bodies["Master"]["spec"]


def test_no_pod_is_created_before_its_flavor_is_known() -> None:
    job = tf_job().workers(2).with_spec(schedulingPolicy={"queue": "team"})
    decided = plan(replace(observed(job), queue=Queue("team", workload=ADMITTED)))
    assert (decided.creations, decided.status.reason) == ((), "FlavorNotFound")
    assert "ResourceFlavor spot" in decided.status.message


@pytest.mark.parametrize("missing", ["", "the cluster has no Kueue"])
def test_a_job_that_runs_goes_on_while_nothing_is_known_of_its_workload(missing: str) -> None:
    """The operator has just started, or Kueue is being upgraded."""
    job = JOB.with_status(start_time=NOW)
    running = [pod(job, "Master").running(), *(pod(job, "Worker", index).running() for index in (0, 1))]
    decided = planned(job, None, *running, missing=missing)
    assert (decided.deletions, decided.status.state) == ((), "Running")


def test_no_pod_is_created_while_nobody_knows_what_the_job_was_admitted_to() -> None:
    """Somebody has deleted its Workload: it is created again, and the job waits for its turn."""
    job = JOB.with_status(start_time=NOW)
    running = [pod(job, "Master").running(), pod(job, "Worker", 0).running()]
    assert [one.replica.index for one in planned(job, ADMITTED, *running).creations] == [1]
    assert planned(job, None, *running).creations == ()


def test_the_quota_of_a_job_that_ended_is_held_while_its_pods_run() -> None:
    assert written(JOB.said("Succeeded"), ADMITTED, has_pods=True).status is None


def test_a_job_that_was_resized_gets_another_workload() -> None:
    """But not while it holds quota: a template may be edited at any time."""
    assert written(JOB, workload(), pod_sets="other").delete
    assert not written(JOB, ADMITTED, pod_sets="other").delete
    resized = torch_job().master().workers(3).with_spec(schedulingPolicy={"queue": "team"})
    digests = {workload_objects.digest(one.kind.job(one.build())) for one in (JOB, resized)}
    assert len(digests) == 2
