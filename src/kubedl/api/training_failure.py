"""The last failure of a job, as its status keeps it after the failed pod was replaced and its events have expired."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from kubedl.kube.types.meta import Record


class LastFailure(Record, frozen=True):
    """The replica whose failure was the cause of the last restart, or of the end of the job."""

    role: Annotated[str, Meta(description="The role of the replica.")]
    index: Annotated[int, Meta(description="The index of the replica.")]
    pod: Annotated[str, Meta(description="The pod.")]
    node: Annotated[str, Meta(description="The node of the pod.")] = ""
    container: Annotated[str, Meta(description="The container that failed, if one did.")] = ""
    exit_code: Annotated[int | None, Meta(description="The exit code of the container.")] = None
    signal: Annotated[str, Meta(description="The signal that the exit code stands for, for example SIGKILL.")] = ""
    reason: Annotated[
        str,
        Meta(description="OOMKilled, Error, Evicted, NodeLost, Deleted, or the reason of a disruption, for programs."),
    ] = ""
    message: Annotated[
        str, Meta(description="The end of the container's termination message, or why the pod was disrupted.")
    ] = ""
    time: Annotated[datetime | None, Meta(description="The time of the failure.")] = None
    followers: Annotated[
        int, Meta(description="The number of other replicas that had failed when this one was judged.")
    ] = 0
    attempt: Annotated[int, Meta(description="The attempt of the replica that failed.")] = 0
