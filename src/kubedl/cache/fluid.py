"""Fluid's objects: what is read of them, and how they are made for a CacheBackend.

A Dataset and its runtime have the backend's name, by which Fluid brings them together; the claim that Fluid makes has
it too. They belong to the backend and go with it.
"""

from typing import Any

from kubedl.api.cache import CACHE_BACKENDS, CacheBackend, CacheRuntime, Level
from kubedl.wire.meta import ObjectMeta, Record, Resource

GROUP, VERSION = "data.fluid.io", "v1alpha1"
MADE_BY, FLUID = "CreatedBy", "fluid"  # the annotation by which Fluid knows its claims

Body = dict[str, Any]


class DatasetCondition(Record, frozen=True):
    """What Fluid says about a Dataset."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class DatasetStatus(Record, frozen=True):
    """How far Fluid has come."""

    phase: str = ""
    conditions: tuple[DatasetCondition, ...] | None = ()


class Dataset(Record, frozen=True):
    """Data that Fluid knows."""

    metadata: ObjectMeta = ObjectMeta()
    status: DatasetStatus = DatasetStatus()


class Runtime(Record, frozen=True):
    """An engine that Fluid runs for a Dataset."""

    metadata: ObjectMeta = ObjectMeta()


class Claim(Record, frozen=True):
    """What pods mount."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def is_fluids(self) -> bool:
        """Whether Fluid made it; anybody may have one of that name."""
        return self.metadata.annotations.get(MADE_BY) == FLUID


DATASETS = Resource(Dataset, "Dataset", "datasets", VERSION, GROUP)
ALLUXIO = Resource(Runtime, "AlluxioRuntime", "alluxioruntimes", VERSION, GROUP)
JUICEFS = Resource(Runtime, "JuiceFSRuntime", "juicefsruntimes", VERSION, GROUP)
RUNTIMES = (ALLUXIO, JUICEFS)
CLAIMS = Resource(Claim, "PersistentVolumeClaim", "persistentvolumeclaims")


def engine(backend: CacheBackend) -> tuple[Resource[Runtime], CacheRuntime] | None:
    """The runtime that a backend asks for; None if it asks for none, or for two."""
    chosen = backend.spec.cache_engine.fluid if backend.spec.cache_engine is not None else None
    if chosen is None:
        return None
    asked = ((ALLUXIO, chosen.alluxio_runtime), (JUICEFS, chosen.juice_fs_runtime))
    found = [(resource, runtime) for resource, runtime in asked if runtime is not None]
    return found[0] if len(found) == 1 else None


def render_dataset(backend: CacheBackend) -> Body:
    """The Dataset as it is sent to the API server."""
    sources = backend.spec.dataset.data_sources if backend.spec.dataset is not None else ()
    mounts = [
        {"mountPoint": source.location, **({"name": source.sub_dir_name} if source.sub_dir_name else {})}
        for source in sources
    ]
    return _object(DATASETS, backend, {"mounts": mounts})


def render_runtime(resource: Resource[Runtime], runtime: CacheRuntime, backend: CacheBackend) -> Body:
    """The runtime as it is sent to the API server."""
    levels = [_level(level) for level in runtime.tiered_storage]
    return _object(resource, backend, {"replicas": runtime.replicas, "tieredstore": {"levels": levels}})


def _level(level: Level) -> Body:
    optional = {"path": level.cache_path, "quota": level.quota}
    return {"mediumtype": level.medium_type, **{name: value for name, value in optional.items() if value}}


def _object(resource: Resource[Any], backend: CacheBackend, spec: Body) -> Body:
    meta = backend.metadata
    owner = {
        "apiVersion": CACHE_BACKENDS.api_version,
        "kind": CACHE_BACKENDS.kind,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": meta.name, "namespace": meta.namespace, "ownerReferences": [owner]},
        "spec": spec,
    }
