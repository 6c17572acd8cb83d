"""The add-on: pods whose program can be asked for checkpoints."""

from kubedl.api.training import TrainingJob
from kubedl.podspec.template import TemplateError
from kubedl.training.addons.base import Addon, Body
from kubedl.training.elastic.checkpoint_token import DIGEST_VARIABLE, PORT_VARIABLE, digest
from kubedl.training.job import Job
from kubedl.training.observed import Settings


class CheckpointOnRequest(Addon):
    """Tells programs at which port they answer, and how they know the operator."""

    def is_requested(self, resource: TrainingJob) -> bool:
        """By spec.elastic.checkpoint."""
        return resource.spec.elastic is not None and resource.spec.elastic.checkpoint is not None

    def mutate_pod(self, pod: Body, job: Job, settings: Settings) -> None:
        """Add the variables; a variable of the template has precedence."""
        if not settings.checkpoint_key:
            raise TemplateError(
                "elastic.checkpoint needs the operator's flag --checkpoint-key-file (operator.checkpointKeyFile of "
                "the chart): set it, or remove the field"
            )
        port = job.spec.elastic.checkpoint.port
        if any(port == job.port(role) for role in job.roles):
            raise TemplateError(f"elastic.checkpoint.port is {port}, where replicas meet: choose another one")
        variables = {PORT_VARIABLE: str(port), DIGEST_VARIABLE: digest(settings.checkpoint_key, job.uid)}
        for container in pod["spec"]["containers"]:
            names = {variable.get("name") for variable in container.get("env") or ()}
            added = [{"name": name, "value": value} for name, value in variables.items() if name not in names]
            container["env"] = [*added, *(container.get("env") or ())]
