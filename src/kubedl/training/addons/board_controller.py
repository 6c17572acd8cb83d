"""The loop around the decision about a TensorBoard. It writes no status: a board that cannot be had is told in events.

So nothing that happens here changes the job, and the two controllers of a kind never write the same object.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from kubedl.api.pod_template import TemplateError
from kubedl.api.training import TrainingJob
from kubedl.kube.errors import ApiError, ForbiddenError, InvalidError
from kubedl.runtime.events import Recorder, Reference
from kubedl.runtime.writer import OccupiedError, Writer
from kubedl.training.addons import board_pod
from kubedl.training.addons.board import Decision, Sight, decide
from kubedl.training.addons.tensorboard import is_wanted, name_of
from kubedl.training.controller import Caches
from kubedl.training.kind import Kind
from kubedl.wire.core import PODS, SERVICES, Pod, Service
from kubedl.wire.meta import Key, ObjectT


class BoardController:
    """Reconciles the TensorBoards of one kind's jobs."""

    def __init__(
        self, kind: Kind, caches: Caches, writer: Writer, recorder: Recorder, *, clock: Callable[[], datetime]
    ) -> None:
        self._kind = kind
        self._caches = caches
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    def job_with_board(self, made: TrainingJob) -> Iterable[Key]:
        """The job, if it asks for a board: all others cost nothing here."""
        if is_wanted(made):
            yield made.metadata.key

    def job_of(self, found: Pod | Service) -> Iterable[Key]:
        """The job whose TensorBoard this is, if it is one."""
        reference = found.metadata.controller
        if board_pod.BOARD_OF in found.metadata.labels and reference is not None and reference.kind == self._kind.kind:
            yield Key(found.metadata.namespace, reference.name)

    async def reconcile(self, key: Key) -> float | None:
        """Look at one job's board; returns in how many seconds to look again without being asked."""
        made = self._caches.jobs.get(key)
        if made is None:
            return None
        name = Key(key.namespace, name_of(made))
        pod, service = _own(self._caches.pods.get(name), made), _own(self._caches.services.get(name), made)
        decided = decide(Sight(made, pod, service, self._clock().replace(microsecond=0)))
        if decided.complaint:
            self._tell(made, "TensorBoardInvalid", decided.complaint)
        if decided.delete_pod and pod is not None:
            await self._writer.delete(made, PODS, pod, 0 if decided.force else None)
        if decided.delete_service and service is not None:
            await self._writer.delete(made, SERVICES, service)
        await self._create(made, decided)
        if decided.wake_at is None:
            return None
        return max(0.0, (decided.wake_at - self._clock()).total_seconds())

    async def _create(self, made: TrainingJob, decided: Decision) -> None:
        if decided.board is None:
            return
        job = self._kind.job(made)
        try:
            if decided.create_service:
                await self._writer.create(made, SERVICES, board_pod.service(self._kind, job))
            if decided.create_pod:
                await self._writer.create(made, PODS, board_pod.pod(self._kind, job, decided.board))
        except TemplateError as error:  # as bad as it is until somebody edits it
            self._tell(made, "TensorBoardBlocked", str(error))
        except (ForbiddenError, InvalidError, OccupiedError) as refusal:
            self._tell(made, "TensorBoardBlocked", _message(refusal))
            raise

    def _tell(self, made: TrainingJob, reason: str, message: str) -> None:
        meta, resource = made.metadata, self._kind.resource
        about = Reference(resource.api_version, resource.kind, meta.namespace, meta.name, meta.uid)
        self._recorder.event(about, "Warning", reason, message)


def _own(found: ObjectT | None, made: TrainingJob) -> ObjectT | None:
    """An object of that name, if it belongs to this job."""
    reference = found.metadata.controller if found is not None else None
    return found if reference is not None and reference.uid == made.metadata.uid else None


def _message(refusal: ApiError) -> str:
    return f"the TensorBoard cannot be made: {refusal.message}"
