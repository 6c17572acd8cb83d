"""A dataset from a cache, in every pod of a job: the first ones and those that replace them.

The cache itself is a CacheBackend, which has a controller of its own. Here it is only read: no pod is made before its
claim is there, since a pod that waits for a claim says so to nobody.
"""

from kubedl.api import cache as rules
from kubedl.api.cache import CacheBackend, CacheBackendSpec
from kubedl.api.conditions import find
from kubedl.api.training import TrainingJob
from kubedl.training.addons.addon import Addon, AddonError, Body
from kubedl.training.job import Job
from kubedl.training.snapshot import Settings
from kubedl.wire.pattern import Pattern

VOLUME = "cachevolume"
VARIABLE = "KUBEDL_CACHE_NAME"

_NAME, _PATH = Pattern(rules.NAME, rules.LONGEST_NAME), Pattern(rules.ABSOLUTE, rules.LONGEST_PATH)

Obstacle = tuple[str, str]  # reason and message


class DatasetCache(Addon):
    """The add-on."""

    def check(self, made: TrainingJob) -> None:
        """The API server has checked it already, but an object may be older than its rules."""
        wish: CacheBackendSpec | None = made.spec.cache_backend
        if wish is None:
            return
        if not _NAME.fullmatch(wish.name):
            raise _refused(f"spec.cacheBackend.name: {rules.NO_NAME}")
        if wish.name == made.metadata.name:
            raise _refused(f"spec.cacheBackend.name: {rules.NAME_OF_JOB}")
        if not _PATH.fullmatch(wish.mount_path):
            raise _refused(f"spec.cacheBackend.mountPath: {rules.NO_PATH}")

    def complete(self, pod: Body, job: Job, settings: Settings) -> None:
        """The claim in every container, and its name; a variable that the user wrote stays."""
        wish: CacheBackendSpec | None = job.made.spec.cache_backend
        if wish is None:
            return
        spec = pod["spec"]
        volume = {"name": VOLUME, "persistentVolumeClaim": {"claimName": wish.name}}
        spec["volumes"] = [*(spec.get("volumes") or ()), volume]
        for container in spec["containers"]:
            mount = {"name": VOLUME, "mountPath": wish.mount_path}
            container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
            given = container.get("env") or []
            if all(variable.get("name") != VARIABLE for variable in given):
                container["env"] = [{"name": VARIABLE, "value": wish.name}, *given]


def name_of(made: TrainingJob) -> str:
    """The backend that a job uses; empty if it uses none."""
    return made.spec.cache_backend.name if made.spec.cache_backend is not None else ""


def obstacle(made: TrainingJob, backend: CacheBackend | None) -> Obstacle | None:
    """Why pods cannot mount a job's cache yet; None if they can."""
    name = name_of(made)
    if backend is None:
        if made.spec.cache_backend.dataset is not None:
            return "CacheCreating", f"CacheBackend {name} is being made"
        words = f"there is no CacheBackend {name}; make it, or describe it by dataset and cacheEngine in the job"
        return "CacheNotFound", words
    if backend.metadata.deletion_timestamp is not None:
        return "CacheLeaving", f"CacheBackend {name} is being deleted"
    if backend.status.cache_status == "PVCCreated":
        return None
    said = find(backend.status.conditions, "Ready")
    words = f": {said.message}" if said is not None and said.message else ""
    return backend.status.cache_status or "CacheCreating", f"CacheBackend {name} is not ready{words}"


def _refused(message: str) -> AddonError:
    return AddonError("CacheInvalid", message)
