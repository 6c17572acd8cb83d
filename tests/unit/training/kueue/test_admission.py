"""How an admission reaches the pods: their number, their nodes, and what admission checks add."""

from dataclasses import replace
from typing import Any

import pytest

from kubedl.kube.codec import RawObject, encode
from kubedl.kube.types.meta import ObjectMeta
from kubedl.training import labels, pods
from kubedl.training.kueue import workload as workload_objects
from kubedl.training.kueue.admission import MIN_PARALLELISM, apply_admission, apply_counts
from kubedl.training.kueue.queue import Queue
from kubedl.training.kueue.types import (
    Admission,
    AdmissionCheckState,
    PodSetAssignment,
    PodSetUpdate,
    Workload,
    WorkloadStatus,
)
from kubedl.training.observed import Settings
from kubedl.training.plan import Plan
from kubedl.training.planner import plan
from tests.training_builders import JobBuilder, observed, tf_job, torch_job

KUEUE = "kueue.x-k8s.io"
JOB = torch_job().master().workers(4).with_spec(schedulingPolicy={"queue": "team"})


def admitted(*assignments: PodSetAssignment, checks: tuple[AdmissionCheckState, ...] = ()) -> Queue:
    """The queue of a job that was admitted to this."""
    admission = Admission(cluster_queue="cq", pod_set_assignments=assignments)
    status = WorkloadStatus(admission=admission, admission_checks=checks)
    return Queue("team", workload=Workload(metadata=ObjectMeta(name="w"), status=status))


def rendered(job: JobBuilder, role: str, queue: Queue) -> dict[str, Any]:
    """The first pod of a role, as it is created."""
    whole = job.kind.job(job.build())
    replica = next(one for one in whole.replicas() if one.role == role)
    pod = pods.render(job.kind, whole, replica, 0, scope="Job", settings=Settings())
    apply_admission(pod, role, queue)
    return pod


def templated(job: JobBuilder, **annotations: str) -> JobBuilder:
    """With these annotations of Kueue in the template of the workers."""
    notes = {f"{KUEUE}/{name.replace('_', '-')}": value for name, value in annotations.items()}
    return job.workers(4, template={**job.template(), "metadata": {"annotations": notes}})


def pod_set(job: JobBuilder) -> dict[str, Any]:
    """Of the workers."""
    [found] = [one for one in workload_objects.pod_sets(job.kind.job(job.build())) if one["name"] == "worker"]
    return found


def test_a_job_has_as_many_replicas_as_it_was_admitted_with() -> None:
    whole = JOB.kind.job(JOB.build())
    apply_counts(whole, admitted(PodSetAssignment("master", count=1), PodSetAssignment("worker", count=2)))
    assert (whole.count("Worker"), whole.size) == (2, 3)
    replica = list(whole.replicas())[-1]
    body = pods.render(JOB.kind, whole, replica, 0, scope="Job", settings=Settings())
    [container] = body["spec"]["containers"]
    assert {one["name"]: one.get("value") for one in container["env"]}["WORLD_SIZE"] == "3"


def test_a_job_has_never_more_replicas_than_it_asks_for() -> None:
    whole = JOB.kind.job(JOB.build())
    apply_counts(whole, admitted(PodSetAssignment("worker", count=9)))
    assert whole.count("Worker") == 4


def test_partial_admission_is_asked_for_as_of_other_jobs() -> None:
    assert "minCount" not in pod_set(JOB)
    partial = JOB.with_metadata(annotations={MIN_PARALLELISM: "2"})
    assert (pod_set(partial)["count"], pod_set(partial)["minCount"]) == (4, 2)
    assert workload_objects.digest(partial.kind.job(partial.build())) != workload_objects.digest(
        JOB.kind.job(JOB.build())
    )


def refused(job: JobBuilder, value: str) -> Plan:
    """What becomes of a job with this annotation."""
    return plan(replace(observed(job.with_metadata(annotations={MIN_PARALLELISM: value})), queue=Queue("team")))


@pytest.mark.parametrize("value", ["0", "5", "two", "", "-1", "9" * 10])
def test_a_job_that_cannot_have_partial_admission_says_so(value: str) -> None:
    decided = refused(JOB, value)
    assert (decided.status.state, decided.status.reason) == ("Failed", "Unsupported")
    assert "from 1 to that of the workers, which is 4" in decided.status.message


@pytest.mark.parametrize("value", ["1", "4"])
def test_any_number_of_workers_will_do(value: str) -> None:
    assert refused(JOB, value).status.state == "Queuing"


def test_a_job_without_workers_cannot_have_partial_admission() -> None:
    assert refused(tf_job().ps().chief().with_spec(schedulingPolicy={"queue": "team"}), "1").status.state == "Failed"


def test_what_admission_checks_add_reaches_the_pods() -> None:
    update = PodSetUpdate(
        "worker",
        labels={"added": "label"},
        annotations={"cluster-autoscaler.kubernetes.io/consume-provisioning-request": "one"},
        node_selector={"pool": "new"},
        tolerations=(RawObject(encode({"key": "new"})),),
    )
    queue = admitted(
        PodSetAssignment("worker"), checks=(AdmissionCheckState("provisioning", pod_set_updates=(update,)),)
    )
    pod = rendered(JOB, "Worker", queue)
    assert pod["metadata"]["labels"]["added"] == "label"
    assert pod["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/consume-provisioning-request"] == "one"
    assert pod["spec"]["nodeSelector"] == {"pool": "new"}
    assert pod["spec"]["tolerations"] == [{"key": "new"}]
    assert "nodeSelector" not in rendered(JOB, "Master", queue)["spec"]


def test_annotations_for_provisioning_reach_the_workload() -> None:
    job = JOB.with_metadata(annotations={"provreq.kueue.x-k8s.io/size": "big", "other": "one"})
    body = workload_objects.render(job.kind, job.kind.job(job.build()), "team", 0, None, {})
    assert body["metadata"]["annotations"]["provreq.kueue.x-k8s.io/size"] == "big"
    assert "other" not in body["metadata"]["annotations"]


def test_a_request_for_a_topology_reaches_kueue() -> None:
    assert "topologyRequest" not in pod_set(JOB)
    assert pod_set(templated(JOB, podset_required_topology="rack"))["topologyRequest"] == {
        "required": "rack",
        "podIndexLabel": labels.REPLICA_INDEX,
    }
    sliced = templated(
        JOB, podset_preferred_topology="block", podset_slice_required_topology="rack", podset_slice_size="2"
    )
    assert pod_set(sliced)["topologyRequest"] == {
        "preferred": "block",
        "podSetSliceRequiredTopology": "rack",
        "podSetSliceSize": 2,
        "podIndexLabel": labels.REPLICA_INDEX,
    }
    assert pod_set(templated(JOB, podset_unconstrained_topology="true"))["topologyRequest"]["unconstrained"] is True


def test_pods_whose_nodes_kueue_chooses_wait_for_it() -> None:
    placed = PodSetAssignment("worker", topology_assignment=RawObject(b"{}"))
    pod = rendered(templated(JOB, podset_required_topology="rack"), "Worker", admitted(placed))
    assert pod["spec"]["schedulingGates"] == [{"name": f"{KUEUE}/topology"}]
    assert pod["metadata"]["labels"][f"{KUEUE}/podset"] == "worker"
    assert pod["metadata"]["annotations"][f"{KUEUE}/workload"] == "w"
    assert f"{KUEUE}/podset-unconstrained-topology" not in pod["metadata"]["annotations"]
    unasked = rendered(JOB, "Worker", admitted(placed))
    assert unasked["metadata"]["annotations"][f"{KUEUE}/podset-unconstrained-topology"] == "true"
    assert "schedulingGates" not in rendered(JOB, "Worker", admitted(PodSetAssignment("worker")))["spec"]
