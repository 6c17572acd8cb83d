"""Deployments (apps/v1), reduced to the fields that controllers read."""

from kubedl.kube.codec import RawObject
from kubedl.kube.types.meta import ObjectMeta, Record, Resource


class DeploymentSpec(Record, frozen=True):
    """Spec of a Deployment."""

    replicas: int = 1
    template: RawObject | None = None  # of its pods, with the defaults of the API server


class DeploymentCondition(Record, frozen=True):
    """A condition of a Deployment."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class DeploymentStatus(Record, frozen=True):
    """Status of a Deployment."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[DeploymentCondition, ...] = ()


class Deployment(Record, frozen=True):
    """A Deployment."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def is_observed(self) -> bool:
        """Return whether the status describes the current generation."""
        return self.status.observed_generation >= self.metadata.generation

    @property
    def is_settled(self) -> bool:
        """Return whether every pod has the current template and is ready."""
        status = self.status
        return (
            self.is_observed
            and status.updated_replicas == status.replicas == self.spec.replicas
            and status.available_replicas == self.spec.replicas
        )

    @property
    def is_stuck(self) -> bool:
        """Return whether the Deployment exceeded its progressDeadlineSeconds."""
        reasons = (
            condition.reason
            for condition in self.status.conditions
            if condition.type == "Progressing" and condition.status == "False"
        )
        return self.is_observed and "ProgressDeadlineExceeded" in reasons


DEPLOYMENTS = Resource(Deployment, "Deployment", "deployments", group="apps")
