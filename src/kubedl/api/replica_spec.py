"""One role of a training job: how many pods, their template, and what happens when one of them fails."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from kubedl.api.placement import Placement
from kubedl.api.validation.policies import exit_code_rules, restart_rules
from kubedl.kube.codec import RawObject
from kubedl.kube.types.meta import Record
from kubedl.schema.pod_template import POD_TEMPLATE
from kubedl.schema.structural import Rule

MAX_REPLICAS = 10_000

RestartPolicy = Literal["Always", "OnFailure", "Never", "ExitCode"]
FailurePolicy = Literal["FailJob", "FailReplica"]
OomPolicy = Literal["Retry", "Fail"]
Phase = Literal["Running", "Ready", "Succeeded"]


class Dependency(Record, frozen=True):
    """A role that must reach a phase before this role starts."""

    upstream: Annotated[str, Meta(max_length=63, description="The role to wait for.")]
    phase: Annotated[Phase, Meta(description="The phase that every replica of that role must reach.")] = "Running"


class ExitCodes(Record, frozen=True):
    """The meaning of the exit codes of a role's containers."""

    retryable: Annotated[
        tuple[Annotated[str, Meta(max_length=7)], ...],
        Meta(
            max_length=16,
            description='Retryable exit codes from 1 to 255, single or as a range, for example "137" or "200-255". '
            "All other codes are permanent failures.",
        ),
    ]

    __rules__: ClassVar[tuple[Rule, ...]] = exit_code_rules()


class ReplicaSpec(Record, frozen=True):
    """One role of a job: its number of replicas and their pod template."""

    template: Annotated[
        RawObject,
        Meta(description="The pod template of each replica (a PodTemplateSpec).", extra_json_schema=POD_TEMPLATE),
    ]
    replicas: Annotated[int, Meta(ge=0, le=MAX_REPLICAS, description="The number of pods of this role.")] = 1
    restart_policy: Annotated[
        RestartPolicy | None,
        Meta(
            description="What happens when a replica fails. ExitCode restarts it after a retryable exit code (130, "
            "137, 138 and 143, unless exitCodes is set) and treats any other code as a permanent failure. The "
            "default depends on the kind."
        ),
    ] = None
    exit_codes: ExitCodes | None = None
    oom_policy: Annotated[
        OomPolicy | None,
        Meta(
            description="Whether an OOM kill is retried (Retry) or a permanent failure (Fail), regardless of the "
            "exit code. By default exit code 137 decides."
        ),
    ] = None
    failure_policy: Annotated[
        FailurePolicy | None,
        Meta(
            description="The effect of a permanently failed replica: FailJob fails the job; FailReplica lets the "
            "others continue while the job can still succeed without it. The default depends on the kind."
        ),
    ] = None
    depends_on: (
        Annotated[
            tuple[Dependency, ...],
            Meta(
                max_length=8,
                description="The roles that must start or finish before this one. Defaults to the order of the kind; "
                "[] means no dependency.",
            ),
        ]
        | None
    ) = None

    placement: (
        Annotated[
            Placement,
            Meta(
                description="Where the pods of this role are placed, instead of the placement of the job. They are "
                "counted without those of other roles."
            ),
        ]
        | None
    ) = None
    spot_replica_spec: (
        Annotated[RawObject, Meta(description="Not supported yet: a job that sets it is rejected.")] | None
    ) = None

    __rules__: ClassVar[tuple[Rule, ...]] = restart_rules()


# The API server limits the cost of CEL rules, so the number of roles must be bounded.
ReplicaSpecs = Annotated[
    Mapping[str, ReplicaSpec],
    Meta(
        min_length=1,
        max_length=5,
        description="The roles of the job by name (Master, Worker, PS, …): the number of pods of each, and their "
        "template.",
    ),
]
