"""The loop around the decision about a ModelVersion. Models are somebody else's: `catalogue` lists what is here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from kubedl.api import model_volumes
from kubedl.api.conditions import Condition, find
from kubedl.api.model import ENDED, GROUP, MODEL_VERSIONS, ModelVersion, ModelVersionStatus
from kubedl.api.model_volumes import NO_FILE_SYSTEMS, FileSystems
from kubedl.kube.errors import ApiError, ForbiddenError, InvalidError
from kubedl.models import build_pod
from kubedl.models.inquiry import NOTHING, Heard, ask
from kubedl.models.plan import ATTACHED, LOOK, OVER, Decision, Sight, decide, failed, stated
from kubedl.runtime.events import Recorder, Reference
from kubedl.runtime.store import Store
from kubedl.runtime.writer import OccupiedError, Writer, merge_changes
from kubedl.schema.rbac import EFS, READ, Grant
from kubedl.wire import codec
from kubedl.wire.core import PODS, Pod
from kubedl.wire.meta import Key

QUIET = ("Building", "ImageBuilt", "Rebuilding")  # reasons of which no warning is made
SILENT = "AllAttached"  # as it should be, and part of what ImageBuilt says
NOT_MADE = "the build pod cannot be made"
NEW = timedelta(seconds=10)  # a pod younger than this has no need to explain itself

GRANTS = (
    Grant(GROUP, ("modelversions",), (*READ, "create"), "Follow model versions, and make those of jobs."),
    Grant(GROUP, ("modelversions/status",), ("patch",), "Say how model versions are."),
    Grant(GROUP, ("modelversions/finalizers",), ("update",), "Own what belongs to a model version."),
    Grant("", ("pods",), (*READ, "create", "delete"), "Build model images."),
    Grant("", ("pods/log",), ("get",), "Say how far the build of a model image is."),
    Grant("", ("events",), ("list",), "Say why the build of a model image does not start."),
    Grant("", ("persistentvolumeclaims",), ("get", "create"), "Mount models that lie in AWS EFS.", feature=EFS),
    Grant(
        "", ("persistentvolumes",), ("create",), "Mount models that lie in AWS EFS.", cluster_scoped=True, feature=EFS
    ),
)


@dataclass(frozen=True)
class Caches:
    """What the controller reads. Pods are found by the version that owns them."""

    versions: Store[ModelVersion]
    pods: Store[Pod]


class ModelVersionController:
    """Reconciles ModelVersions."""

    def __init__(
        self,
        caches: Caches,
        writer: Writer,
        recorder: Recorder,
        *,
        packer: build_pod.Packer,
        file_systems: FileSystems = NO_FILE_SYSTEMS,
        clock: Callable[[], datetime],
    ) -> None:
        self._caches = caches
        self._writer = writer
        self._recorder = recorder
        self._packer = packer
        self._file_systems = file_systems
        self._clock = clock
        self._heard: dict[Key, tuple[str, datetime, Heard]] = {}  # of which pod, when, and what

    def version_of(self, pod: Pod) -> Iterable[Key]:
        """The version that a pod builds."""
        reference = pod.metadata.controller
        if reference is not None and reference.kind == MODEL_VERSIONS.kind:
            yield Key(pod.metadata.namespace, reference.name)

    async def reconcile(self, key: Key) -> float | None:
        """Look at one version; returns in how many seconds to look again without being asked."""
        version = self._caches.versions.get(key)
        if version is None:
            self._heard.pop(key, None)
            return None
        found = self._caches.pods.owned_by(version)
        pod = next((one for one in found if one.metadata.name == build_pod.name_of(version)), None)
        now = self._clock().replace(microsecond=0)
        heard = await self._listen(version, pod, now)
        sight = Sight(version, pod, now, heard.progress, heard.warning)
        decided = decide(sight)
        await self._apply(sight, decided)
        return decided.again.total_seconds() if decided.again is not None else None

    async def _listen(self, version: ModelVersion, pod: Pod | None, now: datetime) -> Heard:
        """Ask about a build now and then: what is heard is written, which would be reason to ask again."""
        key = version.metadata.key
        if pod is None or pod.status.phase in OVER or version.status.image_build_phase in ENDED:
            self._heard.pop(key, None)
            return NOTHING
        made = pod.metadata.creation_timestamp
        if pod.status.phase != "Running" and made is not None and now - made < NEW:
            return NOTHING
        uid, at, heard = self._heard.get(key, ("", now, NOTHING))
        if uid == pod.metadata.uid and now - at < LOOK:
            return heard
        heard = await ask(self._writer.client, pod)
        self._heard[key] = pod.metadata.uid, now, heard
        return heard

    async def _apply(self, sight: Sight, decided: Decision) -> None:
        version, status = sight.version, decided.status
        refusal: ApiError | None = None
        if decided.create is not None:
            try:
                await self._create(version, decided.create)
            except InvalidError as error:  # a version never changes, so neither does its pod
                status = failed(sight, decided.create, "PodInvalid", f"{NOT_MADE}: {error.message}")
            except (ForbiddenError, OccupiedError) as error:
                refusal = error
                reason = f"Pod{error.reason or 'Refused'}"
                status = stated(version, status, reason, f"{NOT_MADE}: {error.message}", sight.now)
        await self._write_status(version, status)
        if decided.delete and sight.pod is not None:
            await self._writer.delete(version, PODS, sight.pod, 0 if decided.force else None)
        if refusal is not None:
            raise refusal  # the queue waits longer each time

    async def _create(self, version: ModelVersion, attempt: int) -> None:
        storage = version.spec.storage
        if storage is None:
            return  # never: it was decided that the version is complete
        await model_volumes.provide(self._writer.client, storage, build_pod.owner_of(version), self._file_systems)
        body = build_pod.render(version, storage, attempt, self._packer)
        await self._writer.create(version, PODS, body)

    async def _write_status(self, version: ModelVersion, status: ModelVersionStatus) -> None:
        changes = merge_changes(codec.plain(version.status), codec.plain(status))
        if not changes:
            return
        await self._writer.patch_status(MODEL_VERSIONS, version, changes)
        for kind in ("Ready", ATTACHED):
            before, said = (find(one.conditions, kind) for one in (version.status, status))
            if said is not None and said.reason != SILENT and (before is None or before.reason != said.reason):
                self._tell(version, said)

    def _tell(self, version: ModelVersion, said: Condition) -> None:
        meta = version.metadata
        about = Reference(MODEL_VERSIONS.api_version, MODEL_VERSIONS.kind, meta.namespace, meta.name, meta.uid)
        kind: Literal["Normal", "Warning"] = "Normal" if said.reason in QUIET else "Warning"
        self._recorder.event(about, kind, said.reason, said.message)
