"""Jobs that are resized while they run: what a user asks for, and what the operator writes about it."""

from typing import Annotated

from msgspec import Meta

from kubedl.api.replica_spec import MAX_REPLICAS
from kubedl.kube.types.meta import Record


class Elastic(Record, frozen=True):
    """The sizes that a job may have while it runs. Its program must be started with torchrun."""

    max_replicas: Annotated[int, Meta(ge=1, le=MAX_REPLICAS, description="The largest number of Workers.")]
    min_replicas: Annotated[int, Meta(ge=1, le=MAX_REPLICAS, description="The smallest number of Workers.")] = 1


class ElasticStatus(Record, frozen=True):
    """The state of a job that is resized while it runs."""

    size: Annotated[int, Meta(description="The number of Workers that the job was last given.")] = 0
    members: Annotated[str, Meta(description="The indexes of the Workers that run, for example 0-2,5.")] = ""
    leaving: Annotated[str, Meta(description="The indexes of removed Workers whose pods are still there.")] = ""
    changes: Annotated[int, Meta(description="How often the size was changed while the job ran.")] = 0
    shrunk_in_attempt: Annotated[int | None, Meta(description="The attempt in which Workers were last removed.")] = None
    selector: Annotated[str, Meta(description="The label selector of the Workers, for autoscalers.")] = ""
