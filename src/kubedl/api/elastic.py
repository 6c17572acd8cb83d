"""Jobs that are resized while they run: what a user asks for, and what the operator writes about it."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

from kubedl.api.replica_spec import MAX_REPLICAS
from kubedl.kube.types.meta import Record

MOST_RECLAIMS = 20  # in the status

ResizeMode = Literal["InPlace", "Restart"]
ReclaimPhase = Literal["Noticed", "Requested", "Confirmed", "Unsaved", "Left", "Settled", "Cancelled"]


class ElasticCheckpoint(Record, frozen=True):
    """How to ask the program for a checkpoint before Workers leave. It answers with kubedl.training_runtime."""

    port: Annotated[
        int, Meta(ge=1024, le=65535, description="The port at which rank 0 answers, in the first replica.")
    ] = 29500
    timeout_seconds: Annotated[
        int, Meta(ge=1, le=3600, description="How long to wait for a checkpoint; Workers leave without one then.")
    ] = 90


class Elastic(Record, frozen=True):
    """The sizes that a job may have while it runs."""

    max_replicas: Annotated[int, Meta(ge=1, le=MAX_REPLICAS, description="The largest number of Workers.")]
    min_replicas: Annotated[int, Meta(ge=1, le=MAX_REPLICAS, description="The smallest number of Workers.")] = 1
    resize: Annotated[
        ResizeMode | None,
        Meta(
            description="InPlace: Workers come and go while the others stay, for programs that are started with "
            "torchrun. Restart: all replicas start again with the new size and continue from a checkpoint. By default "
            "InPlace for a PyTorchJob; other kinds can only restart."
        ),
    ] = None
    checkpoint: Annotated[
        ElasticCheckpoint | None,
        Meta(
            description="Ask for a checkpoint before Workers leave or all restart, and leave nodes that will be taken."
        ),
    ] = None


class Reclaim(Record, frozen=True):
    """What was done about one notice that a node will be taken, or about one removal of Workers by a user."""

    source: Annotated[
        str,
        Meta(
            description="What gave notice: the key of a taint, the type of a condition of the node, the annotation "
            "training.kubedl.io/reclaim-at, DisruptionTarget if a pod is evicted, Resize if a user removes "
            "Workers, or Pool if Workers move to another pool of nodes."
        ),
    ]
    phase: Annotated[ReclaimPhase, Meta(description="How far it has come.")]
    seen_at: Annotated[datetime, Meta(description="When the notice was first seen.")]
    node: Annotated[str, Meta(description="The node.")] = ""
    taken_at: Annotated[datetime | None, Meta(description="When the node will be taken, if that is known.")] = None
    replicas: Annotated[str, Meta(description="The indexes of the Workers that leave, for example 0-2,5.")] = ""
    leader: Annotated[bool, Meta(description="The first replica leaves too, so all replicas restart.")] = False
    request: Annotated[int, Meta(description="The number of the request for a checkpoint.")] = 0
    requested_at: Annotated[datetime | None, Meta(description="When the checkpoint was asked for.")] = None
    confirmed_at: Annotated[datetime | None, Meta(description="When the program had saved.")] = None
    left_at: Annotated[datetime | None, Meta(description="When the pods were told to go.")] = None
    ended_at: Annotated[datetime | None, Meta(description="When the notice was gone.")] = None


class ReclaimCounts(Record, frozen=True):
    """How often Workers had to leave, and what became of it."""

    noticed: Annotated[int, Meta(description="Notices that were acted upon.")] = 0
    confirmed: Annotated[int, Meta(description="Those with a checkpoint in time.")] = 0
    unsaved: Annotated[int, Meta(description="Those without one.")] = 0
    cancelled: Annotated[int, Meta(description="Those that were taken back before anybody had left.")] = 0


class ElasticStatus(Record, frozen=True):
    """The state of a job that is resized while it runs."""

    size: Annotated[int, Meta(description="The number of Workers that the job was last given.")] = 0
    members: Annotated[str, Meta(description="The indexes of the Workers that run, for example 0-2,5.")] = ""
    leaving: Annotated[str, Meta(description="The indexes of removed Workers whose pods are still there.")] = ""
    changes: Annotated[int, Meta(description="How often the size was changed while the job ran.")] = 0
    shrunk_in_attempt: Annotated[
        int | None, Meta(description="The attempt of the job in which Workers were last removed, or left a node.")
    ] = None
    selector: Annotated[str, Meta(description="The label selector of the Workers, for autoscalers.")] = ""
    requests: Annotated[int, Meta(description="The number of the last request for a checkpoint.")] = 0
    reclaims: Annotated[
        tuple[Reclaim, ...],
        Meta(max_length=MOST_RECLAIMS, description="The last notices that were acted upon, oldest first."),
    ] = ()
    reclaim_counts: Annotated[ReclaimCounts, Meta(description="All notices that were acted upon.")] = ReclaimCounts()
