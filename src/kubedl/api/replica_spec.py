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


class SpotReplicaSpec(Record, frozen=True):
    """Replicas of a role that may be taken away first."""

    spot_replica_number: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_REPLICAS,
            description="How many replicas of the role are spot replicas: those with the highest indexes, or all of "
            "them if there are fewer.",
        ),
    ] = 0
    priority_class_name: Annotated[
        str,
        Meta(
            max_length=253,
            description="The priority class of their pods, instead of the one in the template or schedulingPolicy.",
        ),
    ] = ""
    labels: Annotated[
        Mapping[str, Annotated[str, Meta(max_length=63)]],
        Meta(max_length=16, description="Labels of their pods, in addition to those of the template."),
    ] = {}


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
        Annotated[
            SpotReplicaSpec,
            Meta(
                description="Gives the replicas with the highest indexes a priority class and labels of their own, for "
                "example so that they are preempted first, or go to spot nodes by a policy of the cluster."
            ),
        ]
        | None
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
