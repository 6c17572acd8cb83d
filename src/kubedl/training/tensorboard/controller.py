"""Controller of TensorBoards. It writes no status: failures are reported as events.

So it never changes the job, and the two controllers of a kind never write the same object.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from kubedl.api.training import TrainingJob
from kubedl.kube.errors import ApiError, ForbiddenError, InvalidError
from kubedl.kube.types.core import PODS, SERVICES, Pod, Service
from kubedl.kube.types.meta import ObjectKey, ObjectT
from kubedl.podspec.template import TemplateError
from kubedl.runtime.events import EventRecorder, ObjectReference
from kubedl.runtime.ownership import controllers_of
from kubedl.runtime.writer import NameConflictError, Writer
from kubedl.training.informers import Informers
from kubedl.training.kind import Kind
from kubedl.training.tensorboard import objects as tensorboard_objects
from kubedl.training.tensorboard.plan import Observed, Plan, plan
from kubedl.training.tensorboard.spec import is_wanted, tensorboard_name


class TensorBoardController:
    """Reconciles the TensorBoards of one kind's jobs."""

    def __init__(
        self,
        kind: Kind,
        informers: Informers,
        writer: Writer,
        recorder: EventRecorder,
        *,
        clock: Callable[[], datetime],
    ) -> None:
        self._kind = kind
        self._jobs_of = controllers_of(kind.kind)
        self._informers = informers
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    def job_with_tensorboard(self, resource: TrainingJob) -> Iterable[ObjectKey]:
        """Return the key of the job, if it asks for a TensorBoard: all others cost nothing here."""
        if is_wanted(resource):
            yield resource.metadata.key

    def job_of(self, found: Pod | Service) -> Iterable[ObjectKey]:
        """Return the key of the job of a TensorBoard object."""
        return self._jobs_of(found) if tensorboard_objects.BOARD_OF in found.metadata.labels else ()

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Reconcile the TensorBoard of one job; returns after how many seconds to reconcile again."""
        resource = self._informers.jobs.get(key)
        if resource is None:
            return None
        name = ObjectKey(key.namespace, tensorboard_name(resource))
        pod = _own(self._informers.pods.get(name), resource)
        service = _own(self._informers.services.get(name), resource)
        decided = plan(Observed(resource, pod, service, self._clock().replace(microsecond=0)))
        if decided.complaint:
            self._record_event(resource, "TensorBoardInvalid", decided.complaint)
        if decided.delete_pod and pod is not None:
            await self._writer.delete(resource, PODS, pod, 0 if decided.force else None)
        if decided.delete_service and service is not None:
            await self._writer.delete(resource, SERVICES, service)
        await self._create(resource, decided)
        if decided.wake_at is None:
            return None
        return max(0.0, (decided.wake_at - self._clock()).total_seconds())

    async def _create(self, resource: TrainingJob, decided: Plan) -> None:
        if decided.tensorboard is None:
            return
        job = self._kind.job(resource)
        try:
            if decided.create_service:
                await self._writer.create(resource, SERVICES, tensorboard_objects.service(self._kind, job))
            if decided.create_pod:
                await self._writer.create(resource, PODS, tensorboard_objects.pod(self._kind, job, decided.tensorboard))
        except TemplateError as error:  # permanent until the job is edited
            self._record_event(resource, "TensorBoardBlocked", str(error))
        except (ForbiddenError, InvalidError, NameConflictError) as refusal:
            self._record_event(resource, "TensorBoardBlocked", _message(refusal))
            raise

    def _record_event(self, resource: TrainingJob, reason: str, message: str) -> None:
        about = ObjectReference.of(self._kind.resource, resource)
        self._recorder.event(about, "Warning", reason, message)


def _own(obj: ObjectT | None, resource: TrainingJob) -> ObjectT | None:
    """Return an object with this name, if the job controls it."""
    reference = obj.metadata.controller if obj is not None else None
    return obj if reference is not None and reference.uid == resource.metadata.uid else None


def _message(refusal: ApiError) -> str:
    return f"cannot create the TensorBoard: {refusal.message}"
