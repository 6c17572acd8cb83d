"""A place for the model, in every pod of a job: what is written there becomes a model version when the job succeeds.

Every container mounts it and is told where. If it is a directory of one node, the replica that writes the model runs on
that node: by convention the one that leads those that train.
"""

from kubedl.api import model_volumes
from kubedl.api.model import ModelOutput, complaint
from kubedl.api.model_storage import mount_path
from kubedl.api.model_volumes import Owner
from kubedl.api.training import TrainingJob
from kubedl.training.addons.addon import Addon, AddonError, Body
from kubedl.training.job import Job, Replica
from kubedl.training.snapshot import Settings

VARIABLE = "KUBEDL_MODEL_PATH"
# The first of these that a job has writes the model. A launcher that has workers runs no rank, so none of it is there.
LEADING = ("Master", "Chief", "Worker")


class ModelStorage(Addon):
    """The add-on."""

    def check(self, made: TrainingJob) -> None:
        """The API server has checked it already, but an object may be older than its rules."""
        wish: ModelOutput | None = made.spec.model_version
        wrong = complaint(wish) if wish is not None else None
        if wrong is not None:
            raise AddonError("ModelVersionInvalid", f"spec.modelVersion.{wrong}")

    def complete(self, pod: Body, job: Job, settings: Settings) -> None:
        """The storage in every container, and its path; a variable that the user wrote stays."""
        self.check(job.made)
        wish: ModelOutput | None = job.spec.model_version
        if wish is None or wish.storage is None:
            return
        spec, storage, path = pod["spec"], wish.storage, mount_path(wish.storage)
        owner = Owner(job.namespace, job.uid, {})  # of which a pod needs only the names
        spec["volumes"] = [*(spec.get("volumes") or ()), model_volumes.volume(storage, owner)]
        for container in spec["containers"]:
            container["volumeMounts"] = [*(container.get("volumeMounts") or ()), model_volumes.mount(storage, path)]
            given = container.get("env") or []
            if all(variable.get("name") != VARIABLE for variable in given):
                container["env"] = [{"name": VARIABLE, "value": path.replace("$", "$$")}, *given]
        selector = model_volumes.node_selector(storage)
        wrote = writer(job)
        if selector and wrote is not None and pod["metadata"]["name"] == job.pod_name(wrote):
            spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **selector}


def writer(job: Job) -> Replica | None:
    """The replica that writes the model; None if there is no replica at all."""
    role = next((role for role in LEADING if role in job), None)
    return Replica(role, 0) if role is not None else next(job.replicas(), None)
