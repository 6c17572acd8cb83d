"""How the pods of a job are scheduled: together, in a queue, by which scheduler and with which priority."""

from typing import Annotated

from msgspec import Meta

from kubedl.kube.types.meta import Record
from kubedl.schema.structural import MAX_INT32


class SchedulingPolicy(Record, frozen=True):
    """Scheduling of the pods of a job."""

    min_available: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=MAX_INT32,
                description="The number of pods that must start together (gang scheduling). Roles that wait for others "
                "(dependsOn) start together later. By default all pods, if the job has a gang scheduler.",
            ),
        ]
        | None
    ) = None
    priority: (
        Annotated[
            int,
            Meta(
                ge=-MAX_INT32,
                le=MAX_INT32,
                description="Not supported yet (use priorityClassName): a job that sets it is rejected.",
            ),
        ]
        | None
    ) = None
    priority_class_name: Annotated[
        str, Meta(max_length=253, description="The PriorityClass of pods whose template sets none.")
    ] = ""
    queue: Annotated[
        str,
        Meta(
            max_length=253,
            description="The LocalQueue of Kueue that the job waits in; with Volcano or YuniKorn as gang scheduler, "
            "its queue. The label kueue.x-k8s.io/queue-name of the job has precedence. Without either, a job joins the "
            "LocalQueue named default, if its namespace has one when the job starts.",
        ),
    ] = ""
    gang_scheduler: Annotated[
        str,
        Meta(
            max_length=63,
            description="The scheduler that starts the pods of the job together: auto, none, native, volcano, "
            "coscheduling, koordinator or yunikorn. The default is that of the operator (--gang-scheduler).",
        ),
    ] = ""
