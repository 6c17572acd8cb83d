"""The last failure in the status: it remains when the pod was replaced and its events have expired. Pure.

It is part of the status write that counts the failure, and costs none of its own. Restarts by the kubelet in place are
recorded when the status is written for another reason, such as their count.
"""

import signal
from collections.abc import Iterable

from kubedl.api.training_failure import LastFailure
from kubedl.kube.types.core import ContainerStatus, Pod, Terminated
from kubedl.training.observed import ObservedReplica
from kubedl.training.plan import PlanBuilder
from kubedl.training.policies.clean_pod_policy import ENDED
from kubedl.training.policies.failure_policy import DISRUPTED, Failure, FailureClass, ending
from kubedl.training.policies.safe_time import LONG_AGO

LONGEST_MESSAGE, LONGEST_REASON = 1024, 64  # characters; the end of a message has the error
KILLED = 128  # an exit code above it is a signal
SIGNALS = {KILLED + number: number.name for number in signal.Signals}
LOST, DELETED = "NodeLost", "Deleted"


def record(builder: PlanBuilder, replicas: Iterable[ObservedReplica], failure: Failure, followers: int = 0) -> None:
    """Record the failure that restarts or ends the job. Call it before the attempt of the replica increases."""
    seen = next(one for one in replicas if one.replica == failure.replica)
    pod = seen.current or seen.gone
    reason, message, ended, container = _ending(builder, pod, failure)
    builder.set(
        last_failure=_failure(
            builder,
            seen,
            ended,
            container=container,
            reason=reason,
            message=message,
            time=builder.observed.now if failure.when == LONG_AGO else failure.when,
            followers=followers,
        )
    )


def record_in_place(builder: PlanBuilder, replicas: Iterable[ObservedReplica]) -> None:
    """Record the last restart by a kubelet, if the status is written anyway. Call it last."""
    if builder.status == builder.observed.job.resource.status:
        return
    known = builder.status.last_failure
    latest = known.time if known is not None and known.time is not None else LONG_AGO
    for seen in replicas:
        for status in seen.current.status.container_statuses if seen.current is not None else ():
            ended = status.last_state.terminated
            if ended is None or ended.exit_code == 0 or not status.restart_count:
                continue
            when = ended.finished_at
            if when is not None and when > latest:
                latest = when
                failure = _failure(
                    builder,
                    seen,
                    ended,
                    container=status.name,
                    reason=ended.reason or "Error",
                    message=ended.message,
                    time=when,
                )
                builder.set(last_failure=failure)


def _failure(
    builder: PlanBuilder,
    seen: ObservedReplica,
    ended: Terminated | None,
    *,
    reason: str,
    message: str,
    **fields: object,
) -> LastFailure:
    pod = seen.current or seen.gone
    return LastFailure(
        role=seen.replica.role,
        index=seen.replica.index,
        pod=builder.observed.job.pod_name(seen.replica),
        node=pod.spec.node_name if pod is not None else "",
        exit_code=ended.exit_code if ended is not None else None,
        signal=SIGNALS.get(ended.exit_code, "") if ended is not None else "",
        reason=reason[:LONGEST_REASON],
        message=message.strip()[-LONGEST_MESSAGE:].strip(),
        attempt=seen.attempt,
        **fields,  # type: ignore[arg-type] # container, time, followers
    )


def _ending(builder: PlanBuilder, pod: Pod | None, failure: Failure) -> tuple[str, str, Terminated | None, str]:
    """Return reason, message, how the container ended, and its name."""
    if pod is None:
        return DELETED, failure.text, None, ""
    if pod.spec.node_name in builder.observed.lost_nodes and pod.status.phase not in ENDED:
        return LOST, failure.text, None, ""
    if failure.cost is FailureClass.DISRUPTION or pod.status.reason:
        target = pod.holding(DISRUPTED)
        reason = target.reason if target is not None else pod.status.reason
        return reason or DELETED, failure.text, None, ""
    ended = ending(pod, builder.observed.job.container)[0]
    if ended is None:
        return "Error", failure.text, None, ""
    return ended.reason or "Error", ended.message, ended, _container(pod, ended)


def _container(pod: Pod, ended: Terminated) -> str:
    statuses: tuple[ContainerStatus, ...] = (*pod.status.container_statuses, *pod.status.init_container_statuses)
    return next((one.name for one in statuses if one.state.terminated is ended), "")
