"""Replaces replicas that were lost before they ever ran, while the others go on: nobody trains with them yet. Pure."""

from kubedl.kube.types.core import ContainerStatus
from kubedl.training import replica_status, restarts
from kubedl.training.job import Replica
from kubedl.training.observed import Observed, ObservedReplica
from kubedl.training.plan import PlanBuilder
from kubedl.training.policies import index_ranges, restart_backoff
from kubedl.training.policies.failure_policy import Failure, FailureClass

Replicas = list[ObservedReplica]


def replace_unstarted(builder: PlanBuilder, replicas: Replicas) -> tuple[Replicas, frozenset[Replica]]:
    """Give lost replicas a new attempt each; returns all of them, and those that are no reason to restart the job."""
    observed = builder.observed
    if observed.job.spec.spot is None or restarts.scope(observed) != "Job":
        return replicas, frozenset()
    lost: dict[Replica, Failure] = {}
    for seen in replicas:
        failure = restarts.failure_of(builder, seen) if _never_ran(observed, seen) else None
        if failure is not None and failure.cost is FailureClass.DISRUPTION:
            lost[seen.replica] = failure
    due = [seen for seen in replicas if seen.replica in lost and _is_due(builder, seen, lost[seen.replica])]
    if not due:
        return replicas, frozenset(lost)
    for seen in due:
        text = f"{observed.job.pod_name(seen.replica)} {lost[seen.replica].text} before it ran; it is replaced"
        builder.event("Normal", "ReplicaReplaced", text)
    restarts.next_attempt(builder, due)
    return replica_status.observe_replicas(observed, builder.status), frozenset(lost)


def _never_ran(observed: Observed, seen: ObservedReplica) -> bool:
    """Return whether the program of a replica has not run in this attempt, by its pod and by who trained before."""
    pod, elastic = seen.current or seen.gone, observed.job.resource.status.elastic
    if seen.succeeded or pod is None or pod.status.phase in ("Running", "Succeeded"):
        return False
    is_elastic = seen.replica.role == observed.kind.elastic_role
    if is_elastic and elastic is not None and seen.replica.index in index_ranges.read(elastic.members):
        return False
    return not any(_has_run(one) for one in pod.status.container_statuses if one.name == observed.job.container)


def _has_run(container: ContainerStatus) -> bool:
    return container.state.waiting is None or container.last_state.terminated is not None or container.restart_count > 0


def _is_due(builder: PlanBuilder, seen: ObservedReplica, failure: Failure) -> bool:
    """Return whether the pause is over: a node that refuses pods at once must not be asked again and again."""
    attempts = seen.attempt - builder.status.attempt
    again = min(failure.when, builder.observed.now) + restart_backoff.pause(attempts, disrupted=True)
    builder.wake(again if again > builder.observed.now else None)
    return again <= builder.observed.now
