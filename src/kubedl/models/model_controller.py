"""Controller of Models: each lists its versions, and exists as long as a version names it.

A version belongs to its Model by name only and is never deleted with it. A Model that is deleted while versions name it
is created again, so that deleting it does not lose the record of its images.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kubedl.api.model import BY_MODEL, MODEL_VERSIONS, MODELS, Model, ModelStatus, ModelVersion, VersionInfo
from kubedl.kube import codec
from kubedl.kube.errors import AlreadyExistsError, ForbiddenError, InvalidError
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime.events import EventRecorder, ObjectReference
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer

MOST_LISTED = 100  # limit of versions in a status, to bound its size
BY_NAME = "name"
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)

Body = dict[str, Any]


@dataclass(frozen=True)
class Informers:
    """The informers of the controller."""

    models: Store[Model]  # with the index BY_NAME, by which tombstones are kept
    versions: Store[ModelVersion]  # with the index BY_MODEL


@dataclass(frozen=True)
class Observed:
    """The observed state of a Model, whether it exists or is only named by versions."""

    key: ObjectKey
    model: Model | None
    former: Model | None  # the last deleted Model with this name
    versions: tuple[ModelVersion, ...]  # those that name it and are not being deleted, newest first


@dataclass(frozen=True)
class Plan:
    """The actions to take."""

    create: Body | None = None
    status: ModelStatus | None = None  # of the existing Model
    forget: bool = False  # drop the tombstones: the Model exists again, or no version needs it


class ModelController:
    """Reconciles Models."""

    def __init__(self, informers: Informers, writer: Writer, recorder: EventRecorder) -> None:
        self._informers = informers
        self._writer = writer
        self._recorder = recorder

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Reconcile one Model, whether it exists or is only named by versions."""
        observed = self.observe(key)
        await self._apply(observed, plan(observed))
        return None

    def observe(self, key: ObjectKey) -> Observed:
        """Return the observed state, from informer caches."""
        named = self._informers.versions.by_index(BY_MODEL, key)
        return Observed(
            key,
            model=self._informers.models.get(key),
            former=next(reversed(self._informers.models.tombstones(key)), None),
            versions=tuple(newest(version for version in named if version.metadata.deletion_timestamp is None)),
        )

    async def _apply(self, observed: Observed, decided: Plan) -> None:
        if decided.create is not None:
            await self._create(observed, decided.create)
        if decided.forget:
            self._informers.models.drop_tombstones(observed.key)
        if decided.status is not None and observed.model is not None:
            await self._writer.write_status(MODELS, observed.model, decided.status)

    async def _create(self, observed: Observed, body: Body) -> None:
        key, versions = observed.key, observed.versions
        try:
            model = await self._writer.client.create(MODELS, key.namespace, body)
        except AlreadyExistsError:
            return  # by any creator: only the name matters
        except (ForbiddenError, InvalidError) as refusal:
            message = f"cannot create Model {key.name}: {refusal.message}"
            about = ObjectReference.of(MODEL_VERSIONS, versions[-1])
            self._recorder.event(about, "Warning", "ModelBlocked", message)
            raise
        if observed.former is not None:
            message = (
                f"the Model was deleted and is created again: {len(versions)} ModelVersions name it; delete them first"
            )
            self._recorder.event(ObjectReference.of(MODELS, model), "Normal", "ModelMadeAgain", message)


def plan(observed: Observed) -> Plan:
    """Plan the actions for a Model."""
    key, model = observed.key, observed.model
    if model is None and observed.versions and key.name:
        return Plan(create=_render(key, observed.former))
    is_there = model is not None and model.metadata.deletion_timestamp is None
    return Plan(status=summary(observed.versions) if is_there else None, forget=True)


def _render(key: ObjectKey, former: Model | None) -> Body:
    return {
        "apiVersion": MODELS.api_version,
        "kind": MODELS.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": codec.plain(former.spec) if former is not None else {},
    }


def newest(versions: Iterable[ModelVersion]) -> list[ModelVersion]:
    """Sort versions, newest first."""
    return sorted(
        versions,
        key=lambda version: (version.metadata.creation_timestamp or LONG_AGO, version.metadata.name),
        reverse=True,
    )


def summary(versions: Iterable[ModelVersion]) -> ModelStatus:
    """Return the status of a Model with these versions."""
    ordered = newest(versions)
    built = (
        version
        for version in ordered
        if version.status.image_build_phase == "ImageBuildSucceeded" and version.status.image
    )
    latest = next(built, None)
    return ModelStatus(
        latest_version=_in_a_word(latest) if latest is not None else None,
        versions=tuple(map(_in_a_word, ordered[:MOST_LISTED])),
        version_count=len(ordered),
    )


def _in_a_word(version: ModelVersion) -> VersionInfo:
    return VersionInfo(model_version=version.metadata.name, image_name=version.status.image)
