"""What all training jobs have in common: the spec around the roles, and the status.

A kind adds its own spec (the field that holds its roles, and what only it has) in its own file.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from kubedl.api.cache import CacheBackendSpec
from kubedl.api.conditions import Conditions
from kubedl.api.model import ModelOutput
from kubedl.api.policy_rules import exit_code_rules, restart_rules
from kubedl.api.training_addons import CodeSource, TensorBoard
from kubedl.schema.pods import POD_TEMPLATE
from kubedl.schema.structural import Rule
from kubedl.wire.codec import Opaque
from kubedl.wire.meta import Key, ObjectMeta, Record

GROUP = "training.kubedl.io"
VERSION = "v1alpha1"
MAX_REPLICAS = 10_000
BY_CACHE = "cache"  # the index of jobs by the CacheBackend that they use
MOST = 2**31 - 1  # what clients in other languages can hold; seconds up to here are still a date

CleanPodPolicy = Literal["All", "Running", "None"]
RestartPolicy = Literal["Always", "OnFailure", "Never", "ExitCode"]
RestartScope = Literal["Replica", "Job"]
SuccessPolicy = Literal["", "AllWorkers", "AllReplicas", "AnyWorker"]
FailurePolicy = Literal["FailJob", "FailReplica"]
OomPolicy = Literal["Retry", "Fail"]
Phase = Literal["Running", "Ready", "Succeeded"]
State = Literal["Created", "Queuing", "Running", "Restarting", "Suspended", "Succeeded", "Failed"]


class Dependency(Record, frozen=True):
    """Another role that must have come so far before this one starts."""

    upstream: Annotated[str, Meta(max_length=63, description="The role that is waited for.")]
    phase: Annotated[Phase, Meta(description="How far every replica of that role must have come.")] = "Running"


class ExitCodes(Record, frozen=True):
    """What the exit codes of a role's containers mean."""

    retryable: Annotated[
        tuple[Annotated[str, Meta(max_length=7)], ...],
        Meta(
            max_length=16,
            description='Codes after which trying again may help, from 1 to 255, as in "137" or "200-255". All others '
            "fail the replica for good.",
        ),
    ]

    __rules__: ClassVar[tuple[Rule, ...]] = exit_code_rules()


class ReplicaSpec(Record, frozen=True):
    """One role of a job: how many replicas, and what each runs."""

    template: Annotated[
        Opaque, Meta(description="The pod of each replica (a PodTemplateSpec).", extra_json_schema=POD_TEMPLATE)
    ]
    replicas: Annotated[int, Meta(ge=0, le=MAX_REPLICAS, description="How many pods this role has.")] = 1
    restart_policy: Annotated[
        RestartPolicy | None,
        Meta(
            description="What happens when a replica fails. ExitCode replaces it when the exit code says that trying "
            "again may help (130, 137, 138, 143, unless exitCodes says otherwise), and fails otherwise. The kind has "
            "a default."
        ),
    ] = None
    exit_codes: ExitCodes | None = None
    oom_policy: Annotated[
        OomPolicy | None,
        Meta(
            description="What it means that a container was killed for want of memory: Retry or Fail, whatever its "
            "exit code. Left out, the code decides, which is 137."
        ),
    ] = None
    failure_policy: Annotated[
        FailurePolicy | None,
        Meta(
            description="What a replica that fails for good takes along: FailJob, or FailReplica, after which the "
            "others go on as long as the job can succeed without it. The kind has a default."
        ),
    ] = None
    depends_on: (
        Annotated[
            tuple[Dependency, ...],
            Meta(
                max_length=8,
                description="Roles that must come first. Left out, the kind's own order holds; [] is none.",
            ),
        ]
        | None
    ) = None

    spot_replica_spec: (
        Annotated[Opaque, Meta(description="Not supported yet: a job that sets it is rejected.")] | None
    ) = None

    __rules__: ClassVar[tuple[Rule, ...]] = restart_rules()


# The number of roles is bounded because the API server bounds what the rules about them may cost.
ReplicaSpecs = Annotated[
    Mapping[str, ReplicaSpec],
    Meta(
        min_length=1,
        max_length=5,
        description="The roles of the job, by name (Master, Worker, PS, …): how many pods each has, and what they run.",
    ),
]


class SchedulingPolicy(Record, frozen=True):
    """Wishes to the scheduler."""

    min_available: (
        Annotated[
            int, Meta(ge=1, le=MOST, description="Not supported yet (gang scheduling): a job that sets it is rejected.")
        ]
        | None
    ) = None
    priority: (
        Annotated[
            int,
            Meta(
                ge=-MOST,
                le=MOST,
                description="Not supported yet (use priorityClassName): a job that sets it is rejected.",
            ),
        ]
        | None
    ) = None
    priority_class_name: Annotated[
        str, Meta(max_length=253, description="The PriorityClass of pods whose template names none.")
    ] = ""
    queue: Annotated[
        str, Meta(max_length=253, description="Not supported yet (queues): a job that sets it is rejected.")
    ] = ""


class JobSpec(Record, frozen=True):
    """The part of a job's spec that every kind has."""

    clean_pod_policy: Annotated[
        CleanPodPolicy | None,
        Meta(
            description="Which pods are deleted when the job has ended. Of a job that failed, running pods always are. "
            "The kind has a default."
        ),
    ] = None
    ttl_seconds_after_finished: (
        Annotated[int, Meta(ge=0, le=MOST, description="The job itself is deleted that long after its end.")] | None
    ) = None
    active_deadline_seconds: (
        Annotated[
            int,
            Meta(ge=1, le=MOST, description="The job fails when it has run that long, suspended time not counted."),
        ]
        | None
    ) = None
    backoff_limit: (
        Annotated[
            int, Meta(ge=0, le=MOST, description="How often failed replicas are tried again before the job fails.")
        ]
        | None
    ) = None
    suspend: Annotated[bool, Meta(description="No pod runs while this is true.")] = False
    restart_scope: Annotated[
        RestartScope | None,
        Meta(
            description="What is restarted when one replica must be: it alone, or all of them. The kind has a default."
        ),
    ] = None
    success_policy: Annotated[
        SuccessPolicy,
        Meta(
            description="When the job is done. Empty: as the kind has it. AllWorkers: when every Worker is, too. "
            "AllReplicas: when every replica of every role is. AnyWorker: when one Worker is."
        ),
    ] = ""
    scheduling_policy: SchedulingPolicy | None = None
    cron_policy: Annotated[Opaque, Meta(description="Not supported yet: a job that sets it is rejected.")] | None = None
    cache_backend: (
        Annotated[
            CacheBackendSpec,
            Meta(
                description="The cache that every pod mounts, by its name; made from dataset and cacheEngine if it is "
                "not there."
            ),
        ]
        | None
    ) = None
    model_version: ModelOutput | None = None
    code_source: CodeSource | None = None
    tensor_board: TensorBoard | None = None


class ReplicaStatus(Record, frozen=True, omit_defaults=False):
    """How the replicas of one role are."""

    active: Annotated[int, Meta(description="Pods that have not ended.")] = 0
    ready: Annotated[int, Meta(description="Pods that are ready.")] = 0
    succeeded: Annotated[int, Meta(description="Replicas that have succeeded.")] = 0
    failed: Annotated[int, Meta(description="Replicas that have failed for good.")] = 0
    evicted: Annotated[int, Meta(description="Pods that were lost through no fault of theirs and replaced.")] = 0
    restarts: Annotated[int, Meta(description="Pods that failed and were replaced.")] = 0
    succeeded_indexes: Annotated[str, Meta(description="Indexes of replicas that have succeeded, as in 0-2,5.")] = ""
    attempts: Annotated[Mapping[str, int], Meta(description="How often a replica was replaced, by its index.")] = {}


class JobStatus(Record, frozen=True):
    """What the operator knows about a job. All that must outlive a restart of the operator is here."""

    state: Annotated[State | None, Meta(description="What the job is doing, in a word.")] = None
    reason: Annotated[str, Meta(description="Why it is in this state, in a word for programs.")] = ""
    message: Annotated[
        str,
        Meta(description="Why the job waits or how it ended, in one line; the conditions have all of it."),
    ] = ""
    ready: Annotated[str, Meta(description="Pods that are ready, of those wanted.")] = ""
    conditions: Conditions = ()
    replica_statuses: Annotated[Mapping[str, ReplicaStatus], Meta(description="How the replicas are, by role.")] = {}
    attempt: Annotated[int, Meta(description="How often the whole job was restarted.")] = 0
    retries: Annotated[int, Meta(description="What counts against backoffLimit.")] = 0
    restarts: Annotated[
        int | None,
        Meta(description="How often pods were replaced or containers restarted, for whatever reason."),
    ] = None
    start_time: Annotated[datetime | None, Meta(description="When the job began, or was last resumed.")] = None
    completion_time: Annotated[datetime | None, Meta(description="When it ended.")] = None
    active_deadline_seconds: Annotated[
        int | None, Meta(description="How long it may run, wherever the spec says so.")
    ] = None
    model_version_name: Annotated[str, Meta(description="The model version that the job left behind.")] = ""
    cache_backend_name: Annotated[str, Meta(description="The cache that the job's pods mount.")] = ""
    code_revision: Annotated[str, Meta(description="The commit that all replicas run, if the code is from git.")] = ""
    observed_generation: Annotated[int, Meta(description="The generation of the spec that this is about.")] = 0


class TrainingJob(Record, frozen=True):
    """A job of any kind; a kind narrows `spec`."""

    spec: Any
    api_version: str = f"{GROUP}/{VERSION}"
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    status: JobStatus = JobStatus()


def cache_key(made: TrainingJob) -> Key | None:
    """The CacheBackend that a job uses; None if it uses none."""
    wish: CacheBackendSpec | None = made.spec.cache_backend
    return Key(made.metadata.namespace, wish.name) if wish is not None and wish.name else None
