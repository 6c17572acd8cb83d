"""Jobs that another cluster runs: what the manager's operator does, and the worker's."""

from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest

from kubedl.api.conditions import Condition, find, is_true
from kubedl.api.kueue import QUEUE_LABEL
from kubedl.api.training import BY_CACHE, TrainingJob, cache_key
from kubedl.datasets.plan import uses
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import ObjectKey, ObjectMeta, OwnerReference
from kubedl.runtime.store import Store
from kubedl.training.controller import LOADING, JobController
from kubedl.training.informers import Informers
from kubedl.training.kueue import plan as workloads
from kubedl.training.kueue import workload as workload_objects
from kubedl.training.kueue.controller import LOOK_FOR_PREBUILT, Stores, WorkloadController
from kubedl.training.kueue.queues import Queues
from kubedl.training.kueue.types import PREBUILT, Admission, Workload, WorkloadSpec, WorkloadStatus
from kubedl.training.observed import Settings
from kubedl.training.tensorboard.spec import is_wanted
from tests.training_builders import NAMESPACE, NOW, JobBuilder, PodBuilder, pod, torch_job

if TYPE_CHECKING:
    from kubedl.runtime.events import EventRecorder
    from kubedl.runtime.writer import Writer

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
QUEUED = torch_job().master().workers(2).with_metadata(labels={QUEUE_LABEL: "team"})
ELSEWHERE = QUEUED.with_spec(managedBy=MULTIKUEUE)
DISPATCHED = QUEUED.with_metadata(annotations={PREBUILT: "from-manager"})


def said(kind: str, reason: str = "Because") -> Condition:
    return Condition(type=kind, status="True", reason=reason)


def workload(job: JobBuilder, *conditions: Condition, owner: str = "", admitted: bool = True) -> Workload:
    """Of this job, as its digest says."""
    owners = (
        (OwnerReference("training.kubedl.io/v1alpha1", "PyTorchJob", job.name, owner, controller=True),)
        if owner
        else ()
    )
    digest = workload_objects.digest(job.kind.job(job.build()))
    meta = ObjectMeta(
        name="from-manager",
        namespace=NAMESPACE,
        uid="w",
        resource_version="7",
        annotations={workloads.POD_SETS: digest},
        owner_references=owners,
    )
    status = WorkloadStatus(conditions=conditions, admission=Admission(cluster_queue="cq") if admitted else None)
    return Workload(metadata=meta, spec=WorkloadSpec(queue_name="team"), status=status)


class RecordingWriter:
    """Remembers what would be written."""

    client = None  # no priority is asked for

    def __init__(self) -> None:
        self.written: list[tuple[str, Any]] = []

    async def create(self, _owner: object, _resource: object, body: object) -> None:
        self.written.append(("create", body))

    async def patch(self, _owner: object, _resource: object, _target: object, changes: object, **_: object) -> None:
        self.written.append(("patch", changes))


async def reconciled(
    job: JobBuilder, found: Workload | None, *pods: PodBuilder
) -> tuple[list[tuple[str, Any]], float | None]:
    """What is written for the Workload of a job, and when it is looked at again."""
    jobs, stored, claims, writer = Store[TrainingJob](), Store[Pod](), Store[Workload](), RecordingWriter()
    jobs.put(job.build())
    for one in pods:
        stored.put(one.build())
    if found is not None:
        claims.put(found)
    stores = Stores(jobs, stored, claims, Queues(), lambda: "")
    made, recorder = cast("Writer", writer), cast("EventRecorder", None)
    controller = WorkloadController(job.kind, stores, made, recorder, settings=Settings, clock=lambda: NOW)
    again = await controller.reconcile(ObjectKey(NAMESPACE, job.name))
    return writer.written, again


async def test_the_manager_creates_the_workload_and_nothing_else() -> None:
    [(verb, body)], _ = await reconciled(ELSEWHERE, None)
    assert (verb, body["kind"], body["spec"]["queueName"]) == ("create", "Workload", "team")
    resource = ELSEWHERE.with_spec(tensorBoard={"logDir": "/logs"}).build()
    assert is_wanted(QUEUED.with_spec(tensorBoard={"logDir": "/logs"}).build())
    assert not is_wanted(resource)
    assert not uses(resource)


@pytest.mark.parametrize(("job", "loading", "again"), [(ELSEWHERE, False, None), (QUEUED, True, LOADING)])
async def test_the_operator_leaves_a_job_alone(job: JobBuilder, loading: bool, again: float | None) -> None:
    """One that runs elsewhere; and any, while it is not known yet whether the job was admitted."""
    jobs = Store[TrainingJob]({BY_CACHE: cache_key})
    jobs.put(job.build())
    informers = Informers(jobs, Store[Pod](), Store(), Store(), kueue_is_loading=lambda: loading)
    writer = RecordingWriter()
    made, recorder = cast("Writer", writer), cast("EventRecorder", None)
    controller = JobController(job.kind, informers, made, recorder, settings=Settings(), clock=lambda: NOW)
    assert await controller.reconcile(ObjectKey(NAMESPACE, job.name)) == again
    assert writer.written == []


async def test_the_manager_gives_quota_back_when_the_other_cluster_has_no_pods_left() -> None:
    """It knows by the status that is copied from there."""
    evicted = workload(ELSEWHERE, said("Admitted"), said("Evicted", "Preempted"), owner="uid-resnet")
    running = ELSEWHERE.counted("Worker", active=2)
    assert (await reconciled(running, evicted))[0] == []
    [(_, changes)], _ = await reconciled(ELSEWHERE.counted("Worker", active=0), evicted)
    assert changes["status"]["admission"] is None


async def test_the_worker_adopts_the_workload_of_multikueue() -> None:
    [(verb, changes)], again = await reconciled(DISPATCHED, workload(DISPATCHED, said("Admitted")))
    meta = changes["metadata"]
    assert verb == "patch"
    assert [one["uid"] for one in meta["ownerReferences"]] == ["uid-resnet"]
    assert meta["labels"] == {"kueue.x-k8s.io/job-uid": "uid-resnet"}
    assert (meta["uid"], meta["resourceVersion"]) == ("w", "7")
    assert again is None


@pytest.mark.parametrize("owner", ["", "uid-of-another"])
async def test_the_worker_creates_no_workload_of_its_own(owner: str) -> None:
    """It waits for that of MultiKueue, and takes none that belongs to another job."""
    found = workload(DISPATCHED, said("Admitted"), owner=owner) if owner else None
    assert await reconciled(DISPATCHED, found) == ([], LOOK_FOR_PREBUILT)


async def test_the_worker_does_not_write_the_spec_of_multikueue() -> None:
    found = workload(DISPATCHED, said("Admitted"), owner="uid-resnet")
    moved = DISPATCHED.with_metadata(labels={QUEUE_LABEL: "other"}).suspended()
    assert (await reconciled(moved, found, pod(moved, "Master").running()))[0] == []


async def test_a_job_that_was_edited_in_the_worker_cluster_is_dispatched_again() -> None:
    """Else its quota would be that of the job before."""
    found = workload(DISPATCHED, said("Admitted"), owner="uid-resnet")
    [(_, changes)], _ = await reconciled(DISPATCHED.workers(9), found)
    finished = find(msgspec.convert(changes["status"]["conditions"], tuple[Condition, ...], strict=False), "Finished")
    assert finished is not None
    assert finished.reason == "OutOfSync"


async def test_a_dispatched_job_gives_its_quota_back_like_any_other() -> None:
    gives_way = DISPATCHED.said("Suspended")
    evicted = workload(DISPATCHED, said("Admitted"), said("Evicted", "Deactivated"), owner="uid-resnet")
    assert (await reconciled(gives_way, evicted, pod(gives_way, "Master").running()))[0] == []
    [(_, changes)], _ = await reconciled(gives_way, evicted)
    assert changes["status"]["admission"] is None
    conditions = msgspec.convert(changes["status"]["conditions"], tuple[Condition, ...], strict=False)
    assert not is_true(conditions, "Admitted")
