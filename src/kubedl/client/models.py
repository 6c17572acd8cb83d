"""Models and their versions: `client.models`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kubedl.client.blocking import blocking
from kubedl.client.errors import Forbidden, NotFound
from kubedl.client.job import parse_time
from kubedl.client.objects import INFERENCES, MODELS, VERSIONS, ObjectOperations
from kubedl.client.server_object import ServerObject

if TYPE_CHECKING:
    from kubedl.client.job_lookup import Cluster


@dataclass(frozen=True)
class ModelVersion(ServerObject):
    """One set of model files, the image that is built from it, and where they come from."""

    @property
    def model(self) -> str:
        """Return the model that it is a version of."""
        return str(self.spec.get("modelName") or "")

    @property
    def phase(self) -> str:
        """Return the phase of the build; empty if it has not begun."""
        return str(self.status.get("imageBuildPhase") or "")

    @property
    def image(self) -> str:
        """Return the image by digest; empty until it is pushed."""
        return str(self.status.get("image") or "")

    @property
    def is_built(self) -> bool:
        """Return whether the image exists."""
        return bool(self.image)

    @property
    def message(self) -> str:
        """Return why the build waits, or how it ended."""
        return str(self.status.get("message") or "")

    @property
    def size(self) -> int:
        """Return the size of the image in bytes; 0 until it is known."""
        return int(self.status.get("size") or 0)

    @property
    def progress(self) -> float | None:
        """Return which part of the image the registry has, from 0 to 1; None if that is not known."""
        found = self.status.get("progress") or {}
        total = int(found.get("bytesTotal") or 0)
        return int(found.get("bytesDone") or 0) / total if total else None

    @property
    def finished(self) -> datetime | None:
        """Return when the build ended."""
        return parse_time(self.status.get("finishTime"))

    @property
    def origin(self) -> Mapping[str, Any]:
        """Return what the operator knows about the job: jobKind, jobName, codeRevision and others."""
        found: Mapping[str, Any] = self.spec.get("origin") or {}
        return found

    @property
    def job(self) -> str:
        """Return the name of the job that it comes from; empty if it comes from none."""
        return str(self.origin.get("jobName") or "")

    @property
    def revision(self) -> str:
        """Return the revision of the job's code."""
        return str(self.origin.get("codeRevision") or "")


@dataclass(frozen=True)
class Model(ServerObject):
    """A model with its versions, newest first, and the names of the services that use one.

    `served_by` is None if the caller may not read services.
    """

    versions: Sequence[ModelVersion] = field(default=(), repr=False)
    served_by: Sequence[str] | None = ()

    @property
    def latest(self) -> ModelVersion | None:
        """Return the newest version whose image is built; the newest of all if none is."""
        known = (self.status.get("latestVersion") or {}).get("modelVersion")
        built = next((one for one in self.versions if one.name == known), None)
        return built or (self.versions[0] if self.versions else None)


class ModelOperations:
    """Models and their versions in one namespace, as the caller."""

    def __init__(self, cluster: "Cluster", namespace: str) -> None:
        self.namespace = namespace
        self._objects = ObjectOperations(cluster, namespace)

    async def list(self, *, all_namespaces: bool = False) -> tuple[Model, ...]:
        """Return the models with their versions, by name."""
        models = await self._objects.list_all(MODELS, all_namespaces=all_namespaces)
        versions = await self._objects.list_all(VERSIONS, all_namespaces=all_namespaces) if models else []
        services = await self._services(all_namespaces=all_namespaces) if models else []
        return tuple(_model(one, versions, services) for one in sorted(models, key=_place))

    async def get(self, name: str) -> Model:
        """Return the model of a name, or the one that a version of this name belongs to. Raises NotFound."""
        found = await self._objects.get_if_there(MODELS, name)
        if found is None:
            version = await self.get_version(name)
            found = await self._objects.get_if_there(MODELS, version.model)
            if found is None:  # a version outlives its model
                found = {"metadata": {"name": version.model, "namespace": version.namespace}}
        versions = await self._objects.list_all(VERSIONS)
        return _model(found, versions, await self._services())

    async def _services(self, *, all_namespaces: bool = False) -> Sequence[Mapping[str, Any]] | None:
        try:
            return await self._objects.list_if_served(INFERENCES, all_namespaces=all_namespaces)
        except Forbidden:
            return None

    async def get_version(self, name: str) -> ModelVersion:
        """Return a version; `version.origin` says which job, code and images it comes from. Raises NotFound."""
        found = await self._objects.get_if_there(VERSIONS, name)
        if found is None:
            why = f"names are those of models and of their versions in {self.namespace}"
            raise NotFound(
                f"there is no model and no version called {name} in {self.namespace}", why, ("kubedl model list",)
            )
        return ModelVersion(found)

    async def delete_version(self, name: str) -> None:
        """Delete a version; its image stays in the registry. Raises NotFound."""
        await self._objects.delete(VERSIONS, name)


class Models:
    """Models and their versions: `ModelOperations` without an event loop."""

    def __init__(self, operations: ModelOperations) -> None:
        self._operations = operations

    list = blocking(ModelOperations.list)
    get = blocking(ModelOperations.get)
    get_version = blocking(ModelOperations.get_version)
    delete_version = blocking(ModelOperations.delete_version)


def _place(found: Mapping[str, Any]) -> tuple[str, str]:
    return str(found["metadata"].get("namespace") or ""), str(found["metadata"]["name"])


def _model(
    found: Mapping[str, Any], versions: Iterable[Mapping[str, Any]], services: Iterable[Mapping[str, Any]] | None
) -> Model:
    namespace, name = _place(found)
    own = [
        ModelVersion(one)
        for one in versions
        if _place(one)[0] == namespace and (one.get("spec") or {}).get("modelName") == name
    ]
    own.sort(key=lambda one: str(one.metadata.get("creationTimestamp") or ""), reverse=True)
    if services is None:
        return Model(found, tuple(own), None)
    names = {one.name for one in own}
    users = {
        _place(one)[1]
        for one in services
        if _place(one)[0] == namespace
        and any(predictor.get("modelVersion") in names for predictor in one["spec"].get("predictors") or ())
    }
    return Model(found, tuple(own), tuple(sorted(users)))
