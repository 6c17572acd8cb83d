"""Models: each lists its versions, and is there as long as a version names it.

A version belongs to its Model by name alone and is never deleted with it: a Model that somebody deletes while versions
name it is made again as it was, so that no record of an image is lost by the deletion of a name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from kubedl.api.model import BY_MODEL, GROUP, MODEL_VERSIONS, MODELS, Model, ModelStatus, ModelVersion, VersionInfo
from kubedl.kube.errors import AlreadyExistsError, ForbiddenError, InvalidError
from kubedl.runtime.events import Recorder, Reference
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer, merge_changes
from kubedl.schema.rbac import Grant
from kubedl.wire import codec
from kubedl.wire.meta import Key, ObjectMeta, Resource

MOST_LISTED = 100  # versions in a status, so that it stays small enough to be written
BY_NAME = "name"
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)

GRANTS = (
    Grant(GROUP, ("models",), ("list", "watch", "create"), "Follow models, and make those that only a version names."),
    Grant(GROUP, ("models/status",), ("patch",), "List the versions of models."),
)


@dataclass(frozen=True)
class Caches:
    """What the controller reads."""

    models: Store[Model]  # with the index BY_NAME, by which it remembers what was deleted
    versions: Store[ModelVersion]  # with the index BY_MODEL


class ModelController:
    """Reconciles Models."""

    def __init__(self, caches: Caches, writer: Writer, recorder: Recorder) -> None:
        self._caches = caches
        self._writer = writer
        self._recorder = recorder

    async def reconcile(self, key: Key) -> float | None:
        """Look at one model, whether it is there or only named."""
        versions = [one for one in self._caches.versions.by(BY_MODEL, key) if one.metadata.deletion_timestamp is None]
        model = self._caches.models.get(key)
        if model is None and versions and key.name:
            await self._make(key, newest(versions))
            return None
        self._caches.models.forget(key)  # it is there again, or nobody needs it
        if model is not None and model.metadata.deletion_timestamp is None:
            changes = merge_changes(codec.plain(model.status), codec.plain(summary(versions)))
            if changes:
                await self._writer.patch_status(MODELS, model, changes)
        return None

    async def _make(self, key: Key, versions: list[ModelVersion]) -> None:
        """For these versions, the newest first."""
        before = next(reversed(self._caches.models.deleted(key)), None)
        body = {
            "apiVersion": MODELS.api_version,
            "kind": MODELS.kind,
            "metadata": {"name": key.name, "namespace": key.namespace},
            "spec": codec.plain(before.spec) if before is not None else {},
        }
        try:
            made = await self._writer.client.create(MODELS, key.namespace, body)
        except AlreadyExistsError:
            return  # whoever made it: the name is what was asked for
        except (ForbiddenError, InvalidError) as refusal:
            message = f"Model {key.name} cannot be made: {refusal.message}"
            self._tell(MODEL_VERSIONS, versions[-1].metadata, "Warning", "ModelBlocked", message)
            raise
        if before is not None:
            message = (
                f"the Model was deleted and is made again: {len(versions)} ModelVersions name it; delete them first"
            )
            self._tell(MODELS, made.metadata, "Normal", "ModelMadeAgain", message)

    def _tell(
        self, resource: Resource[Any], meta: ObjectMeta, kind: Literal["Normal", "Warning"], reason: str, message: str
    ) -> None:
        about = Reference(resource.api_version, resource.kind, meta.namespace, meta.name, meta.uid)
        self._recorder.event(about, kind, reason, message)


def newest(versions: Iterable[ModelVersion]) -> list[ModelVersion]:
    """The newest first."""
    return sorted(
        versions, key=lambda one: (one.metadata.creation_timestamp or LONG_AGO, one.metadata.name), reverse=True
    )


def summary(versions: Iterable[ModelVersion]) -> ModelStatus:
    """The status of a model with these versions."""
    ordered = newest(versions)
    built = (one for one in ordered if one.status.image_build_phase == "ImageBuildSucceeded" and one.status.image)
    latest = next(built, None)
    return ModelStatus(
        latest_version=_in_a_word(latest) if latest is not None else None,
        versions=tuple(map(_in_a_word, ordered[:MOST_LISTED])),
        version_count=len(ordered),
    )


def _in_a_word(version: ModelVersion) -> VersionInfo:
    return VersionInfo(model_version=version.metadata.name, image_name=version.status.image)
