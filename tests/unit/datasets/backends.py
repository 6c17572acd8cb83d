"""CacheBackends, jobs that use them, and Fluid's objects, for tests."""

from typing import Any

from kubedl.api.cachebackend import CACHE_BACKENDS, CacheBackend
from kubedl.datasets import fluid_objects
from kubedl.datasets.host_paths import MEMORY
from kubedl.kube import codec
from kubedl.kube.types.meta import ObjectMeta, OwnerReference
from tests.training_builders import NAMESPACE, JobBuilder, tf_job

NAME, UID = "mnist-data", "uid-data"
DATASET = {"dataSources": [{"location": "s3://bucket/mnist", "subDirName": "mnist"}]}
ALLUXIO = {
    "alluxioRuntime": {
        "replicas": 2,
        "tieredStorage": [{"mediumType": "MEM", "cachePath": f"{MEMORY}/x", "quota": "1Gi"}],
    }
}
SPEC: dict[str, Any] = {"dataset": DATASET, "cacheEngine": {"fluid": ALLUXIO}}


def backend(idle: int = 0, status: dict[str, Any] | None = None, **spec: object) -> CacheBackend:
    """A backend as it comes from the API server; `spec` is in place of what it mostly is."""
    body = {
        "metadata": {"name": NAME, "namespace": NAMESPACE, "uid": UID, "generation": 1, "resourceVersion": "1"},
        "spec": {**SPEC, **({"options": {"idleTime": idle}} if idle else {}), **spec},
        "status": status or {},
    }
    return CACHE_BACKENDS.decoder.decode(codec.encode(body))


def job(name: str = "train", **described: object) -> JobBuilder:
    """A job that uses the backend, and may describe it."""
    return tf_job(name).workers(1).with_spec(cacheBackend={"name": NAME, "mountPath": "/data", **described})


def metadata(owner: str = UID, **fields: Any) -> ObjectMeta:  # noqa: ANN401 - checked by the struct
    """Of an object that belongs to a backend."""
    reference = OwnerReference(
        api_version=CACHE_BACKENDS.api_version, kind=CACHE_BACKENDS.kind, name=NAME, uid=owner, controller=True
    )
    return ObjectMeta(name=NAME, namespace=NAMESPACE, uid="other", owner_references=(reference,), **fields)


def dataset(phase: str = "Bound", message: str = "", **fields: Any) -> fluid_objects.Dataset:  # noqa: ANN401 - as above
    """A Dataset in that phase."""
    said = (fluid_objects.DatasetCondition(type="Ready", status="False", message=message),) if message else ()
    return fluid_objects.Dataset(
        metadata=metadata(**fields), status=fluid_objects.DatasetStatus(phase=phase, conditions=said)
    )


def runtime(**fields: Any) -> fluid_objects.Runtime:  # noqa: ANN401 - as above
    """A runtime."""
    return fluid_objects.Runtime(metadata=metadata(**fields))


def claim(made_by: str = fluid_objects.FLUID) -> fluid_objects.Claim:
    """The claim of that name."""
    annotations = {fluid_objects.MADE_BY: made_by}
    return fluid_objects.Claim(
        metadata=ObjectMeta(name=NAME, namespace=NAMESPACE, uid="claim", annotations=annotations)
    )
