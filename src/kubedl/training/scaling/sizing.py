"""Which size a scaler gives its job, or why the job keeps its own, and who is there in the end. Pure."""

from dataclasses import dataclass

import msgspec

from kubedl.api.conditions import is_finished
from kubedl.api.scaling import ScaledReplicas, ScaleIn, ScaleOut
from kubedl.kube.types.core import Pod
from kubedl.training.job import Job, Replica
from kubedl.training.kind import Kind
from kubedl.training.policies.failure_policy import has_succeeded
from kubedl.training.replica_status import is_running
from kubedl.training.scaling.scaler import Status, listed


@dataclass(frozen=True)
class Target:
    """A job that has the name, and its pods."""

    kind: Kind
    job: Job
    pods: tuple[Pod, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.job.name}"

    @property
    def replicas(self) -> int:
        """Return how many replicas of the elastic role the job is asked to have."""
        return self.job.count(self.kind.elastic_role)

    @property
    def generation(self) -> int:
        """Return the version of its spec."""
        return self.job.resource.metadata.generation

    @property
    def is_finished(self) -> bool:
        """Return whether the job has succeeded or failed."""
        return is_finished(self.job.resource.status.conditions)

    @property
    def is_suspended(self) -> bool:
        """Return whether its user has suspended it, or the end of its patience, of which the spec says nothing."""
        spot = self.job.resource.status.spot
        return self.job.spec.suspend or (spot is not None and spot.suspended is not None)

    def names(self, first: int, last: int) -> tuple[str, ...]:
        """Return the names of the pods with the indexes from `first` to before `last`."""
        return tuple(self.job.pod_name(Replica(self.kind.elastic_role, index)) for index in range(first, last))

    def counted(self) -> ScaledReplicas:
        """Return how many pods of the elastic role there are, also of replicas that the job no longer has."""
        elastic = self.job.spec.elastic
        names = set(self.names(0, max(self.replicas, elastic.max_replicas if elastic is not None else 0)))
        pods = [pod for pod in self.pods if pod.metadata.name in names]
        return ScaledReplicas(
            active=sum(map(is_running, pods)),
            succeeded=sum(map(has_succeeded, pods)),
            failed=sum(pod.status.phase == "Failed" for pod in pods),
        )


@dataclass(frozen=True)
class Failure:
    """Why a scaler fails; without a reason it is the one of its kind."""

    reason: str
    message: str


def with_replicas(status: Status, target: Target) -> Status:
    """Return the status of a scaler that has ended with the pods that its job has then; any other as it is."""
    if status.completion_time is None:
        return status
    return msgspec.structs.replace(status, replica_statuses={target.kind.elastic_role: target.counted()})


def new_size(scaler: ScaleIn | ScaleOut, target: Target) -> int | Failure:
    """Return the number of replicas that the job will have."""
    obstacle = _obstacle(target)
    if obstacle is not None:
        return obstacle
    change = scaler.spec.to_add.count if isinstance(scaler, ScaleOut) else _removed(scaler, target)
    if isinstance(change, Failure):
        return change
    size, bounds = target.replicas + change, target.job.spec.elastic
    if not bounds.min_replicas <= size <= bounds.max_replicas:
        allowed = f"{bounds.min_replicas} to {bounds.max_replicas}"
        return Failure("OutOfBounds", f"{target} would have {size} replicas; allowed are {allowed}")
    return size


def _obstacle(target: Target) -> Failure | None:
    """Return why the job cannot be resized at all."""
    role, spec = target.kind.elastic_role, target.job.spec
    if target.is_finished:
        return Failure("JobFinished", f"{target} has ended")
    if target.is_suspended:
        return Failure("JobSuspended", f"{target} is suspended and has no pods; edit its replicas instead")
    if spec.elastic is None:
        return Failure("NotElastic", f"{target} has no spec.elastic any more")
    if role not in spec.replica_specs:
        return Failure("NotElastic", f"the scale subresource needs a role {role}, spelled like this")
    return None


def _removed(scaler: ScaleIn, target: Target) -> int | Failure:
    """Return the change of the number of replicas: a negative one."""
    wanted, replicas = scaler.spec.to_delete, target.replicas
    if not wanted.pod_names:
        if wanted.count >= replicas:
            return Failure("", f".spec.toDelete.count should be less than current replicas {replicas}")
        return -wanted.count
    names = set(wanted.pod_names)
    last = target.names(max(replicas - len(names), 0), replicas)
    if names != set(last):
        others = listed(sorted(names - set(last)))
        message = f"only the pods with the highest indexes can be removed: {listed(last)}, and not {others}"
        return Failure("PodsNotRemovable", message)
    return -len(names)
