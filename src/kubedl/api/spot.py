"""Elastic jobs on spot nodes: which pools a job may use, when it has to be done, and what was decided."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from kubedl.api.replica_spec import MAX_REPLICAS
from kubedl.api.validation.spot import spot_rules
from kubedl.kube.types.meta import Record
from kubedl.schema.structural import MAX_INT32, Rule

MOST_POOLS = 8

OnMaxWait = Literal["OnDemand", "Suspend", "Fail"]
SpotMode = Literal["Spot", "OnDemand", "Last"]


class Work(Record, frozen=True):
    """How much there is to do."""

    seconds: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_INT32,
            description="How long the whole training takes if all replicas take part all the time.",
        ),
    ]


class Spot(Record, frozen=True):
    """The pools of nodes that a job may use, and when on-demand nodes help."""

    pools: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=63)], ...],
        Meta(
            min_length=1,
            max_length=MOST_POOLS,
            description="Names of pools that the operator knows (--pools), the preferred one first.",
            extra_json_schema={"x-kubernetes-list-type": "set"},
        ),
    ]
    min_on_demand: Annotated[
        int,
        Meta(ge=0, le=MAX_REPLICAS, description="How many replicas, the first ones, are never on spot nodes."),
    ] = 0
    max_wait_seconds: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=MAX_INT32,
                description="How long the job may wait for nodes while it does not train. By default for ever.",
            ),
        ]
        | None
    ) = None
    on_max_wait: Annotated[
        OnMaxWait | None,
        Meta(
            description="What happens then. OnDemand, the default: replicas without a node go to on-demand pools. "
            "Suspend: the job is suspended. Fail: it fails."
        ),
    ] = None
    # Text with a rule, since a date that cannot be decoded would hide the whole job from the operator.
    deadline: (
        Annotated[
            str,
            Meta(
                max_length=40,
                description="When the training has to be done, for example 2026-12-01T08:00:00Z. Needs work.",
            ),
        ]
        | None
    ) = None
    deadline_seconds: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=MAX_INT32,
                description="Instead of deadline: seconds from the first start of the job. Time in which the job is "
                "suspended counts.",
            ),
        ]
        | None
    ) = None
    work: Annotated[Work | None, Meta(description="How much there is to do until the deadline.")] = None

    __rules__: ClassVar[tuple[Rule, ...]] = spot_rules()


class SpotProgress(Record, frozen=True):
    """How much of the work is done, as the program reports it."""

    seconds: Annotated[int, Meta(description="Work that is done, in seconds at full size.")] = 0
    durable_seconds: Annotated[int, Meta(description="The part of it that is in a confirmed checkpoint.")] = 0
    untrusted_since: Annotated[
        datetime | None,
        Meta(description="When work was last lost: until the next checkpoint only what is durable counts."),
    ] = None
    measured_at: Annotated[
        datetime | None, Meta(description="Since when the present replicas make progress, or it was last recorded.")
    ] = None
    trained: Annotated[int, Meta(description="Seconds at full size in which the pace was measured.")] = 0
    gained: Annotated[int, Meta(description="The work that was done in them.")] = 0


class SpotSuspension(Record, frozen=True):
    """The job was suspended because it had waited too long."""

    at: Annotated[datetime, Meta(description="When it was suspended.")]
    max_wait_seconds: Annotated[int, Meta(description="How long it was allowed to wait.")]
    deadline: Annotated[datetime | None, Meta(description="The deadline that it had.")] = None


class SpotStatus(Record, frozen=True):
    """The pools that replicas belong to, and why."""

    mode: Annotated[
        SpotMode,
        Meta(
            description="Spot: replicas beyond minOnDemand belong to spot pools. OnDemand: replicas without a node "
            "go to on-demand pools, as many as are needed. Last: all replicas belong to on-demand pools, until the end "
            "unless there is time to spare again."
        ),
    ] = "Spot"
    since: Annotated[datetime | None, Meta(description="When this mode began.")] = None
    reason: Annotated[str, Meta(description="Why this mode was chosen.")] = ""
    pools: Annotated[
        Mapping[str, str],
        Meta(
            description="The ranks of the replicas in each pool, for example 0-2,5. The first replica has rank 0.",
            extra_json_schema={"maxProperties": MOST_POOLS},
        ),
    ] = {}
    moved_at: Annotated[
        datetime | None, Meta(description="When replicas that train were last sent to another pool.")
    ] = None
    started_at: Annotated[datetime | None, Meta(description="When the job started for the first time.")] = None
    waiting_since: Annotated[
        datetime | None, Meta(description="Since when the job does not train because of missing nodes.")
    ] = None
    waited_seconds: Annotated[
        int, Meta(description="How long it had waited for nodes before, since it last trained.")
    ] = 0
    progress: Annotated[SpotProgress, Meta(description="How much is done.")] = SpotProgress()
    projected_end: Annotated[
        datetime | None, Meta(description="When the training will be done if it goes on as it was then.")
    ] = None
    excused: Annotated[str, Meta(description="The ranks of replicas that had no node when the training ended.")] = ""
    suspended: Annotated[SpotSuspension | None, Meta(description="Set while the job is suspended by onMaxWait.")] = None
