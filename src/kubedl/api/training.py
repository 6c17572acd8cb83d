"""The common part of all training jobs: the spec around the roles, and the status.

Each kind adds its own spec in its own module: the field with its roles, and fields that only it has.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta

from kubedl.api.cachebackend import CacheBackendSpec
from kubedl.api.conditions import Conditions
from kubedl.api.cron import CronPolicy
from kubedl.api.elastic import Elastic, ElasticStatus
from kubedl.api.model import ModelOutput
from kubedl.api.placement import Placement
from kubedl.api.scheduling_policy import SchedulingPolicy
from kubedl.api.spot import Spot, SpotStatus
from kubedl.api.training_addons import CodeSource, TensorBoard
from kubedl.api.training_failure import LastFailure
from kubedl.kube.types.meta import ObjectKey, ObjectMeta, Record
from kubedl.schema.structural import MAX_INT32

GROUP = "training.kubedl.io"
VERSION = "v1alpha1"
BY_CACHE = "cache"  # name of the index of jobs by their CacheBackend

CleanPodPolicy = Literal["All", "Running", "None"]
RestartScope = Literal["Replica", "Job"]
SuccessPolicy = Literal["", "AllWorkers", "AllReplicas", "AnyWorker"]
ManagedBy = Literal["training.kubedl.io/operator", "kueue.x-k8s.io/multikueue"]
NetworkMode = Literal["Pod", "Host", "HostDirect"]
HostNetworkMode = Literal["Host", "HostDirect"]
State = Literal["Created", "Queuing", "Running", "Restarting", "Suspended", "Succeeded", "Failed"]


class JobSpec(Record, frozen=True):
    """The part of the spec that all kinds of jobs share."""

    clean_pod_policy: Annotated[
        CleanPodPolicy | None,
        Meta(
            description="Which pods are deleted when the job has finished. The running pods of a failed job are "
            "always deleted. The default depends on the kind."
        ),
    ] = None
    ttl_seconds_after_finished: (
        Annotated[
            int,
            Meta(
                ge=0, le=MAX_INT32, description="Seconds after which a finished job is deleted. If unset, it is kept."
            ),
        ]
        | None
    ) = None
    active_deadline_seconds: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=MAX_INT32,
                description="Seconds after which an active job fails. Suspended time does not count. By default "
                "there is no limit.",
            ),
        ]
        | None
    ) = None
    backoff_limit: (
        Annotated[
            int,
            Meta(
                ge=0,
                le=MAX_INT32,
                description="The number of retries of failed replicas before the job fails. By default there is no "
                "limit.",
            ),
        ]
        | None
    ) = None
    suspend: Annotated[
        bool,
        Meta(
            description="Whether the job is suspended: its pods are deleted, and none are created while this is true."
        ),
    ] = False
    restart_scope: Annotated[
        RestartScope | None,
        Meta(
            description="Whether a failed replica is restarted alone or with all the others. The default depends on "
            "the kind."
        ),
    ] = None
    success_policy: Annotated[
        SuccessPolicy,
        Meta(
            description="When the job succeeds. Empty, the default: as defined by the kind. AllWorkers: when every "
            "Worker has succeeded as well. AllReplicas: when every replica of every role has. AnyWorker: when one "
            "Worker has."
        ),
    ] = ""
    scheduling_policy: SchedulingPolicy | None = None
    cron_policy: (
        Annotated[
            CronPolicy,
            Meta(
                description="Run the job at the times of a schedule: the operator creates a Cron of the same name, "
                "which the job owns and is the template of. The job itself has no pods."
            ),
        ]
        | None
    ) = None
    placement: (
        Annotated[
            Placement,
            Meta(
                description="Where the pods of the job are placed. Roles with a placement of their own are not counted."
            ),
        ]
        | None
    ) = None
    network_mode: Annotated[
        NetworkMode | None,
        Meta(
            description="The network of the pods. Pod, the default: each pod has an address of its own. Host: pods use "
            "the network of their node, each with a port from the operator's range (--hostnetwork-port-range), and "
            "reach each other through a Service for each replica. HostDirect: the same without these Services; peers "
            "connect to the address of the node and the port. The annotation kubedl.io/network-mode: host means Host."
        ),
    ] = None
    elastic: (
        Annotated[
            Elastic,
            Meta(
                description="Resize the job while it runs: replicas of the role Worker may be edited between these "
                "bounds. With torchrun pods are added or removed without a restart of the others; see resize. "
                "PyTorchJob and JAXJob only."
            ),
        ]
        | None
    ) = None
    spot: (
        Annotated[
            Spot,
            Meta(
                description="Train on spot nodes, with on-demand nodes as far as a deadline or a limit of waiting asks "
                "for them. Pools are configured at the operator (--pools). PyTorchJob with elastic only."
            ),
        ]
        | None
    ) = None
    cache_backend: (
        Annotated[
            CacheBackendSpec,
            Meta(
                description="The CacheBackend that every pod mounts, by name. It is created from dataset and "
                "cacheEngine if it does not exist."
            ),
        ]
        | None
    ) = None
    managed_by: (
        Annotated[
            ManagedBy,
            Meta(
                description="Who runs the job. kueue.x-k8s.io/multikueue: the operator of this cluster creates nothing "
                "for it but its Workload, and MultiKueue dispatches it to another cluster. The default is the "
                "operator. Immutable."
            ),
        ]
        | None
    ) = None
    model_version: ModelOutput | None = None
    code_source: CodeSource | None = None
    tensor_board: TensorBoard | None = None


class ReplicaStatus(Record, frozen=True, omit_defaults=False):
    """The state of the replicas of one role."""

    active: Annotated[int, Meta(description="The number of pods that have not ended.")] = 0
    ready: Annotated[int, Meta(description="The number of ready pods.")] = 0
    succeeded: Annotated[int, Meta(description="The number of replicas that have succeeded.")] = 0
    failed: Annotated[int, Meta(description="The number of replicas that have failed permanently.")] = 0
    evicted: Annotated[
        int, Meta(description="The number of pods that were evicted or lost with their node, and replaced.")
    ] = 0
    restarts: Annotated[int, Meta(description="The number of pods that failed and were replaced.")] = 0
    succeeded_indexes: Annotated[
        str, Meta(description="The indexes of the replicas that have succeeded, for example 0-2,5.")
    ] = ""
    attempts: Annotated[Mapping[str, int], Meta(description="The number of replacements by replica index.")] = {}


class JobStatus(Record, frozen=True):
    """The observed state of a job. The operator keeps no other record, so a restart loses nothing."""

    state: Annotated[State | None, Meta(description="The phase of the job.")] = None
    reason: Annotated[str, Meta(description="Why the job is in this phase, in CamelCase, for programs.")] = ""
    message: Annotated[
        str,
        Meta(description="Why the job waits or how it ended, in one line. The conditions have the details."),
    ] = ""
    ready: Annotated[str, Meta(description="Ready pods out of desired pods, for example 3/4.")] = ""
    gpus: Annotated[int | None, Meta(description="The number of GPUs that all replicas together want.")] = None
    conditions: Conditions = ()
    replica_statuses: Annotated[
        Mapping[str, ReplicaStatus], Meta(description="The state of the replicas by role.")
    ] = {}
    attempt: Annotated[int, Meta(description="The number of restarts of the whole job.")] = 0
    retries: Annotated[int, Meta(description="The number of retries that count towards backoffLimit.")] = 0
    restarts: Annotated[
        int | None,
        Meta(description="The number of replaced pods and restarted containers, for any reason."),
    ] = None
    last_failure: Annotated[
        LastFailure | None,
        Meta(description="The failure that caused the last restart or the end; kept when its pod is gone."),
    ] = None
    start_time: Annotated[datetime | None, Meta(description="The time when the job started or was last resumed.")] = (
        None
    )
    completion_time: Annotated[datetime | None, Meta(description="The time when the job finished.")] = None
    active_deadline_seconds: Annotated[int | None, Meta(description="The effective activeDeadlineSeconds.")] = None
    model_version_name: Annotated[str, Meta(description="The ModelVersion that the job created.")] = ""
    cache_backend_name: Annotated[str, Meta(description="The CacheBackend that the pods mount.")] = ""
    queue_name: Annotated[
        str, Meta(description="The LocalQueue of Kueue that the job waits in, by name or by default.")
    ] = ""
    network_mode: Annotated[
        HostNetworkMode | None, Meta(description="The networkMode with which the job was started, if not Pod.")
    ] = None
    elastic: Annotated[
        ElasticStatus | None, Meta(description="Who trains, if the job can be resized while it runs.")
    ] = None
    spot: Annotated[SpotStatus | None, Meta(description="Which pools replicas belong to, and why.")] = None
    code_revision: Annotated[str, Meta(description="The git commit that all replicas run, if codeSource is set.")] = ""
    observed_generation: Annotated[int, Meta(description="The generation of the spec that this status describes.")] = 0


class TrainingJob(Record, frozen=True):
    """A job of any kind. Each kind narrows the type of `spec`."""

    spec: Any
    api_version: str = f"{GROUP}/{VERSION}"
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()
    status: JobStatus = JobStatus()


def is_managed_elsewhere(resource: TrainingJob) -> bool:
    """Return whether the operator of another cluster runs the job, and the status is copied from there."""
    return bool(resource.spec.managed_by == "kueue.x-k8s.io/multikueue")


def cron_policy(resource: TrainingJob) -> CronPolicy | None:
    """Return the schedule of a job, which then is a template and never has pods; an MPIJob has two places for it."""
    spec = resource.spec
    if spec.cron_policy is not None:
        return spec.cron_policy  # type: ignore[no-any-return] # each kind has its own spec
    return getattr(getattr(spec, "run_policy", None), "cron_policy", None)


def cache_key(resource: TrainingJob) -> ObjectKey | None:
    """Return the key of the CacheBackend of a job, or None."""
    spec: CacheBackendSpec | None = resource.spec.cache_backend
    return ObjectKey(resource.metadata.namespace, spec.name) if spec is not None and spec.name else None
