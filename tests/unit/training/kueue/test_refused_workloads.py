"""Jobs in a queue for which no Workload can be created, or whose template became none later."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from kubedl.api.conditions import Condition
from kubedl.api.training import TrainingJob
from kubedl.kube.errors import ApiError, ForbiddenError, InvalidError
from kubedl.kube.types.core import Node, Pod, Service
from kubedl.kube.types.meta import ObjectKey, ObjectMeta, OwnerReference
from kubedl.runtime.store import Store
from kubedl.training.informers import Informers
from kubedl.training.kueue import workload as workload_objects
from kubedl.training.kueue.controller import Stores, WorkloadController
from kubedl.training.kueue.observation import observe_queue
from kubedl.training.kueue.plan import POD_SETS
from kubedl.training.kueue.queues import Queues
from kubedl.training.kueue.types import Admission, Workload, WorkloadSpec, WorkloadStatus
from kubedl.training.observed import Settings
from kubedl.training.planner import plan
from tests.training_builders import NAMESPACE, NOW, JobBuilder, observed, torch_job

if TYPE_CHECKING:
    from kubedl.runtime.events import EventRecorder
    from kubedl.runtime.writer import Writer

JOB = torch_job().workers(2).with_spec(schedulingPolicy={"queue": "team"})
CONTAINER = {"name": "pytorch", "image": "train:1", "ports": [{"containerPort": "2222"}]}
BROKEN = JOB.workers(2, template={"spec": {"containers": [CONTAINER]}})


class Told:
    """Remembers what would be written, and told; creates are answered with an error, if there is one."""

    client = None  # no priority is asked for

    def __init__(self, error: ApiError | None) -> None:
        self.error = error
        self.written: list[Any] = []
        self.events: list[str] = []

    async def create(self, _owner: object, _resource: object, body: object) -> None:
        if self.error is not None:
            raise self.error
        self.written.append(body)

    async def patch(self, _owner: object, _resource: object, _target: object, changes: object, **_: object) -> None:
        self.written.append(changes)

    def event(self, _about: object, kind: str, reason: str, message: str) -> None:
        self.events.append(f"{kind} {reason}: {message}")


def workload(*conditions: str) -> Workload:
    """Of the job as it was before its template was edited; it holds quota."""
    reference = OwnerReference("training.kubedl.io/v1alpha1", "PyTorchJob", JOB.name, "uid-resnet", controller=True)
    digest = workload_objects.digest(JOB.kind.job(JOB.build()))
    meta = ObjectMeta(
        name="w",
        namespace=NAMESPACE,
        uid="w",
        resource_version="1",
        annotations={POD_SETS: digest},
        owner_references=(reference,),
    )
    said = tuple(Condition(type=kind, status="True", reason="Preempted") for kind in ("QuotaReserved", *conditions))
    status = WorkloadStatus(conditions=said, admission=Admission(cluster_queue="cq"))
    return Workload(metadata=meta, spec=WorkloadSpec(queue_name="team"), status=status)


async def reconciled(job: JobBuilder, found: Workload | None, told: Told) -> None:
    """Look at the Workload of a job without pods."""
    jobs, claims = Store[TrainingJob](), Store[Workload]()
    jobs.put(job.build())
    if found is not None:
        claims.put(found)
    stores = Stores(jobs, Store[Pod](), claims, Queues(), lambda: "")
    writer, recorder = cast("Writer", told), cast("EventRecorder", told)
    controller = WorkloadController(job.kind, stores, writer, recorder, settings=Settings, clock=lambda: NOW)
    await controller.reconcile(ObjectKey(NAMESPACE, job.name))


async def test_a_job_whose_template_is_none_says_so_and_has_no_workload() -> None:
    jobs, pods, services, nodes = Store[TrainingJob](), Store[Pod](), Store[Service](), Store[Node]()
    informers = Informers(jobs, pods, services, nodes, missing_kueue=lambda: "")
    queue = observe_queue(BROKEN.kind.job(BROKEN.build()), (), Settings(), informers)
    decided = plan(replace(observed(BROKEN), queue=queue))
    assert (decided.status.state, decided.status.reason) == ("Queuing", "TemplateInvalid")
    assert "containerPort" in decided.status.message
    assert decided.wake_at is None  # an edit is an event
    told = Told(None)
    await reconciled(BROKEN, None, told)
    assert told.written == []


@pytest.mark.parametrize("ending", ["Suspended", "Succeeded"])
async def test_quota_is_given_back_whatever_the_template_has_become(ending: str) -> None:
    """When the job is evicted, and when it ends."""
    told = Told(None)
    found = workload("Admitted", "Evicted") if ending == "Suspended" else workload("Admitted")
    await reconciled(BROKEN.said(ending), found, told)
    [changes] = told.written
    kinds = {one["type"] for one in changes["status"]["conditions"] if one["status"] == "True"}
    if ending == "Suspended":
        assert changes["status"]["admission"] is None
    else:
        assert "Finished" in kinds


@pytest.mark.parametrize("refusal", [ForbiddenError, InvalidError])
async def test_a_workload_that_is_refused_is_an_event_of_the_job(refusal: type[ApiError]) -> None:
    told = Told(refusal(403, "Because", "no such right"))
    with pytest.raises(refusal):
        await reconciled(JOB, None, told)
    assert told.events == ["Warning WorkloadRefused: cannot create the Workload: no such right"]
