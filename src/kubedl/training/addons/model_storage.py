"""A place for the model, in every pod of a job: what is written there becomes a model version when the job succeeds.

Every container mounts it and is told where. If it is a directory of one node, the replica that writes the model runs on
that node: by convention the one that leads those that train.
"""

from collections.abc import Sequence

from kubedl.api.model import ModelOutput, validate
from kubedl.api.model_storage import mount_path
from kubedl.api.training import TrainingJob
from kubedl.podspec import model_volumes
from kubedl.podspec.model_volumes import Owner
from kubedl.runtime.writer import Writer
from kubedl.training.addons.base import Addon, AddonError, Body
from kubedl.training.job import Job, Replica
from kubedl.training.observed import Observed, Settings
from kubedl.training.plan import Creation

VARIABLE = "KUBEDL_MODEL_PATH"
# The first of these that a job has writes the model. A launcher that has workers runs no rank, so none of it is there.
LEADING = ("Master", "Chief", "Worker")


class ModelStorage(Addon):
    """Mounts the model's storage into every pod."""

    def is_requested(self, resource: TrainingJob) -> bool:
        """By spec.modelVersion."""
        return resource.spec.model_version is not None

    def validate(self, resource: TrainingJob) -> None:
        """The API server has checked it already, but an object may be older than its rules."""
        output: ModelOutput | None = resource.spec.model_version
        wrong = validate(output) if output is not None else None
        if wrong is not None:
            raise AddonError("ModelVersionInvalid", f"spec.modelVersion.{wrong}")

    async def prepare(self, writer: Writer, observed: Observed, creations: Sequence[Creation]) -> None:
        """The claim, and its volume where the storage is a directory or a file system."""
        output: ModelOutput | None = observed.job.spec.model_version
        owner = Owner.of(observed.kind.resource, observed.job.resource)
        storage = output.storage if output is not None else None
        await model_volumes.ensure_volumes(writer.client, storage, owner, observed.settings.file_systems)

    def mutate_pod(self, pod: Body, job: Job, settings: Settings) -> None:
        """The storage in every container, and its path; a variable that the user wrote stays."""
        self.validate(job.resource)
        output: ModelOutput | None = job.spec.model_version
        if output is None or output.storage is None:
            return
        spec, storage, path = pod["spec"], output.storage, mount_path(output.storage)
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
