"""A dataset from a cache, in every pod of a job: the first ones and those that replace them.

The cache itself is a CacheBackend, which has a controller of its own. Here it is only read: no pod is made before its
claim is there, since a pod that waits for a claim says so to nobody.
"""

from kubedl.api import cachebackend as rules
from kubedl.api.cachebackend import CacheBackend, CacheBackendSpec
from kubedl.api.conditions import find
from kubedl.api.training import TrainingJob
from kubedl.kube.bounded_regex import BoundedPattern
from kubedl.training.addons.base import Addon, AddonError, Body, Reason
from kubedl.training.job import Job
from kubedl.training.observed import Settings
from kubedl.training.plan import Gate, PlanBuilder

VOLUME = "cachevolume"
VARIABLE = "KUBEDL_CACHE_NAME"

_NAME, _PATH = BoundedPattern(rules.NAME, rules.LONGEST_NAME), BoundedPattern(rules.ABSOLUTE, rules.LONGEST_PATH)


class DatasetCache(Addon):
    """Mounts the cache's claim into every pod, and holds pods back until the claim is there."""

    condition = "WaitingForCache"
    condition_passed = "CacheReady"

    def is_requested(self, resource: TrainingJob) -> bool:
        """By spec.cacheBackend."""
        return resource.spec.cache_backend is not None

    def validate(self, resource: TrainingJob) -> None:
        """The API server has checked it already, but an object may be older than its rules."""
        spec: CacheBackendSpec | None = resource.spec.cache_backend
        if spec is None:
            return
        if not _NAME.fullmatch(spec.name):
            raise _refused(f"spec.cacheBackend.name: {rules.NO_NAME}")
        if spec.name == resource.metadata.name:
            raise _refused(f"spec.cacheBackend.name: {rules.NAME_OF_JOB}")
        if not _PATH.fullmatch(spec.mount_path):
            raise _refused(f"spec.cacheBackend.mountPath: {rules.NO_PATH}")

    def gate(self, builder: PlanBuilder) -> Gate | None:
        """No pod is created that could not mount the job's data; those that run are left alone."""
        resource = builder.observed.job.resource
        obstacle = waiting_reason(resource, builder.observed.cache) if builder.creations else None
        if obstacle is not None:
            return Gate(*obstacle)
        builder.set(cache_backend_name=claim_name(resource))
        return None

    def mutate_pod(self, pod: Body, job: Job, settings: Settings) -> None:
        """The claim in every container, and its name; a variable that the user wrote stays."""
        cache: CacheBackendSpec | None = job.resource.spec.cache_backend
        if cache is None:
            return
        spec = pod["spec"]
        volume = {"name": VOLUME, "persistentVolumeClaim": {"claimName": cache.name}}
        spec["volumes"] = [*(spec.get("volumes") or ()), volume]
        for container in spec["containers"]:
            mount = {"name": VOLUME, "mountPath": cache.mount_path}
            container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
            given = container.get("env") or []
            if all(variable.get("name") != VARIABLE for variable in given):
                container["env"] = [{"name": VARIABLE, "value": cache.name}, *given]


def claim_name(resource: TrainingJob) -> str:
    """The backend that a job uses; empty if it uses none."""
    return resource.spec.cache_backend.name if resource.spec.cache_backend is not None else ""


def waiting_reason(resource: TrainingJob, backend: CacheBackend | None) -> Reason | None:
    """Why pods cannot mount a job's cache yet; None if they can."""
    name = claim_name(resource)
    if backend is None:
        if resource.spec.cache_backend.dataset is not None:
            return "CacheCreating", f"CacheBackend {name} is being made"
        message = f"there is no CacheBackend {name}; make it, or describe it by dataset and cacheEngine in the job"
        return "CacheNotFound", message
    if backend.metadata.deletion_timestamp is not None:
        return "CacheLeaving", f"CacheBackend {name} is being deleted"
    if backend.status.cache_status == "PVCCreated":
        return None
    condition = find(backend.status.conditions, "Ready")
    message = f": {condition.message}" if condition is not None and condition.message else ""
    return backend.status.cache_status or "CacheCreating", f"CacheBackend {name} is not ready{message}"


def _refused(message: str) -> AddonError:
    return AddonError("CacheInvalid", message)
