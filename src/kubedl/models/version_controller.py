"""Controller of ModelVersions. Models have their own controller, `model_controller`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubedl.api.conditions import turned
from kubedl.api.model import ENDED, MODEL_VERSIONS, ModelVersion, ModelVersionStatus
from kubedl.kube.errors import ApiError, ForbiddenError, InvalidError
from kubedl.kube.types.core import PODS, Pod
from kubedl.kube.types.meta import ObjectKey
from kubedl.models import build_pod
from kubedl.models.build_diagnostics import NOTHING, BuildDiagnostics, fetch_diagnostics
from kubedl.models.version_plan import ATTACHED, LOOK, OVER, Observed, Plan, build_status, failed, plan
from kubedl.podspec import model_volumes
from kubedl.podspec.model_volumes import NO_FILE_SYSTEMS, FileSystems
from kubedl.runtime.events import EventRecorder, EventType, ObjectReference
from kubedl.runtime.store import Store
from kubedl.runtime.writer import NameConflictError, Writer

QUIET = ("Building", "ImageBuilt", "Rebuilding")  # reasons that get no warning event
SILENT = "AllAttached"  # normal, and covered by ImageBuilt
NOT_MADE = "cannot create the build pod"
NEW = timedelta(seconds=10)  # younger pods are not diagnosed


@dataclass(frozen=True)
class Informers:
    """The informers of the controller. Pods are indexed by their owner."""

    versions: Store[ModelVersion]
    pods: Store[Pod]


class ModelVersionController:
    """Reconciles ModelVersions."""

    def __init__(
        self,
        informers: Informers,
        writer: Writer,
        recorder: EventRecorder,
        *,
        packer: build_pod.Packer,
        file_systems: FileSystems = NO_FILE_SYSTEMS,
        clock: Callable[[], datetime],
    ) -> None:
        self._informers = informers
        self._writer = writer
        self._recorder = recorder
        self._packer = packer
        self._file_systems = file_systems
        self._clock = clock
        self._heard: dict[ObjectKey, tuple[str, datetime, BuildDiagnostics]] = {}  # pod, time and diagnostics

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Reconcile one version; returns after how many seconds to reconcile again."""
        version = self._informers.versions.get(key)
        if version is None:
            self._heard.pop(key, None)
            return None
        pods = self._informers.pods.owned_by(version)
        pod = next((one for one in pods if one.metadata.name == build_pod.build_pod_name(version)), None)
        now = self._clock().replace(microsecond=0)
        heard = await self._listen(version, pod, now)
        observed = Observed(version, pod, now, heard.progress, heard.warning, heard.retrying)
        decided = plan(observed)
        await self._apply(observed, decided)
        return decided.again.total_seconds() if decided.again is not None else None

    async def _listen(self, version: ModelVersion, pod: Pod | None, now: datetime) -> BuildDiagnostics:
        """Fetch diagnostics periodically: writing them triggers a reconcile, which must not fetch again."""
        key = version.metadata.key
        if pod is None or pod.status.phase in OVER or version.status.image_build_phase in ENDED:
            self._heard.pop(key, None)
            return NOTHING
        moment = pod.metadata.creation_timestamp
        if pod.status.phase != "Running" and moment is not None and now - moment < NEW:
            return NOTHING
        uid, at, heard = self._heard.get(key, ("", now, NOTHING))
        if uid == pod.metadata.uid and timedelta() <= now - at < LOOK:  # not after a clock was set back
            return heard
        heard = await fetch_diagnostics(self._writer.client, pod)
        self._heard[key] = pod.metadata.uid, now, heard
        return heard

    async def _apply(self, observed: Observed, decided: Plan) -> None:
        version, status = observed.version, decided.status
        refusal: ApiError | None = None
        if decided.create is not None:
            try:
                await self._create(version, decided.create)
            except InvalidError as error:  # a version is immutable, so its pod is too
                status = failed(observed, decided.create, "PodInvalid", f"{NOT_MADE}: {error.message}")
            except (ForbiddenError, NameConflictError) as error:
                refusal = error
                reason = f"Pod{error.reason or 'Refused'}"
                status = build_status(version, status, reason, f"{NOT_MADE}: {error.message}", observed.now)
        await self._write_status(version, status)
        if decided.delete and observed.pod is not None:
            await self._writer.delete(version, PODS, observed.pod, 0 if decided.force else None)
        if refusal is not None:
            raise refusal  # the queue's backoff increases

    async def _create(self, version: ModelVersion, attempt: int) -> None:
        storage = version.spec.storage
        if storage is None:
            return  # cannot happen: the plan requires a complete version
        await model_volumes.ensure_volumes(
            self._writer.client, storage, build_pod.owner_of(version), self._file_systems
        )
        body = build_pod.render(version, storage, attempt, self._packer)
        await self._writer.create(version, PODS, body)

    async def _write_status(self, version: ModelVersion, status: ModelVersionStatus) -> None:
        if not await self._writer.write_status(MODEL_VERSIONS, version, status):
            return
        for kind in ("Ready", ATTACHED):
            condition = turned(version.status.conditions, status.conditions, kind)
            if condition is not None and condition.reason != SILENT:
                event_type: EventType = "Normal" if condition.reason in QUIET else "Warning"
                about = ObjectReference.of(MODEL_VERSIONS, version)
                self._recorder.event(about, event_type, condition.reason, condition.message)
