"""Fluid's objects: the fields that are read, and how they are rendered for a CacheBackend.

A Dataset and its runtime have the name of the CacheBackend, by which Fluid binds them; the PersistentVolumeClaim that
Fluid creates has the same name. The CacheBackend owns them, so they are deleted with it.
"""

from typing import Any

from kubedl.api.cachebackend import CACHE_BACKENDS, CacheBackend, CacheRuntime, Level
from kubedl.kube.types.meta import ObjectMeta, Record, Resource
from kubedl.runtime.ownership import owner_reference

GROUP, VERSION = "data.fluid.io", "v1alpha1"
MADE_BY, FLUID = "CreatedBy", "fluid"  # annotation by which Fluid marks its claims

Body = dict[str, Any]


class DatasetCondition(Record, frozen=True):
    """Condition of a Dataset."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class DatasetStatus(Record, frozen=True):
    """Status of a Dataset."""

    phase: str = ""
    conditions: tuple[DatasetCondition, ...] | None = ()


class Dataset(Record, frozen=True):
    """A Dataset of Fluid."""

    metadata: ObjectMeta = ObjectMeta()
    status: DatasetStatus = DatasetStatus()


class Runtime(Record, frozen=True):
    """A cache runtime of Fluid."""

    metadata: ObjectMeta = ObjectMeta()


class Claim(Record, frozen=True):
    """A PersistentVolumeClaim."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def is_fluids(self) -> bool:
        """Return whether Fluid created it: any user may create one with this name."""
        return self.metadata.annotations.get(MADE_BY) == FLUID


DATASETS = Resource(Dataset, "Dataset", "datasets", VERSION, GROUP)
ALLUXIO = Resource(Runtime, "AlluxioRuntime", "alluxioruntimes", VERSION, GROUP)
JUICEFS = Resource(Runtime, "JuiceFSRuntime", "juicefsruntimes", VERSION, GROUP)
RUNTIMES = (ALLUXIO, JUICEFS)
CLAIMS = Resource(Claim, "PersistentVolumeClaim", "persistentvolumeclaims")


def engine(backend: CacheBackend) -> tuple[Resource[Runtime], CacheRuntime] | None:
    """Return the runtime of a CacheBackend; None if it has none, or two."""
    chosen = backend.spec.cache_engine.fluid if backend.spec.cache_engine is not None else None
    if chosen is None:
        return None
    asked = ((ALLUXIO, chosen.alluxio_runtime), (JUICEFS, chosen.juice_fs_runtime))
    found = [(resource, runtime) for resource, runtime in asked if runtime is not None]
    return found[0] if len(found) == 1 else None


def render_dataset(backend: CacheBackend) -> Body:
    """Render the Dataset."""
    sources = backend.spec.dataset.data_sources if backend.spec.dataset is not None else ()
    mounts = [
        {"mountPoint": source.location, **({"name": source.sub_dir_name} if source.sub_dir_name else {})}
        for source in sources
    ]
    return _object(DATASETS, backend, {"mounts": mounts})


def render_runtime(resource: Resource[Runtime], runtime: CacheRuntime, backend: CacheBackend) -> Body:
    """Render the runtime."""
    levels = [_level(level) for level in runtime.tiered_storage]
    return _object(resource, backend, {"replicas": runtime.replicas, "tieredstore": {"levels": levels}})


def _level(level: Level) -> Body:
    optional = {"path": level.cache_path, "quota": level.quota}
    return {"mediumtype": level.medium_type, **{name: value for name, value in optional.items() if value}}


def _object(resource: Resource[Any], backend: CacheBackend, spec: Body) -> Body:
    meta = backend.metadata
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": meta.name,
            "namespace": meta.namespace,
            "ownerReferences": [owner_reference(CACHE_BACKENDS, backend)],
        },
        "spec": spec,
    }
