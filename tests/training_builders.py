"""Training jobs and their pods for tests, a word at a time.

`tf_job("a").ps(1).workers(2).scope("Job").build()` is a job as it comes from the API server;
`pod(job, "Worker", 0).running().build()` is one of its pods; `observed(job, pod, …)` is what a planner is given.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from kubedl.api.cachebackend import CacheBackend
from kubedl.api.conditions import Condition
from kubedl.api.training import JobStatus, ReplicaStatus, TrainingJob
from kubedl.kube import codec
from kubedl.kube.types.core import (
    ContainerState,
    ContainerStatus,
    InitContainer,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    Terminated,
    Waiting,
)
from kubedl.kube.types.meta import ObjectMeta, OwnerReference
from kubedl.training import labels
from kubedl.training.addons import code_source, git_sync_status
from kubedl.training.job import Replica
from kubedl.training.kind import Kind
from kubedl.training.kinds.mpi import MPI
from kubedl.training.kinds.pytorch import PyTorch
from kubedl.training.kinds.tensorflow import TensorFlow
from kubedl.training.observed import Observed, Settings
from kubedl.training.plan import Plan
from kubedl.training.planner import plan

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
NAMESPACE = "team"
FRESH = JobStatus()
PENDING = PodStatus(phase="Pending")

Object = dict[str, Any]


def after(seconds: float) -> datetime:
    """That long after `NOW`; before it, if negative."""
    return NOW + timedelta(seconds=seconds)


@dataclass(frozen=True)
class JobBuilder:
    """A job in the making; what is not said is as the API server would leave it."""

    kind: Kind
    name: str
    roles: Mapping[str, Object] = field(default_factory=dict)
    spec: Object = field(default_factory=dict)
    metadata: Object = field(default_factory=dict)
    status: JobStatus = FRESH

    def role(self, name: str, replicas: int = 1, **fields: object) -> "JobBuilder":
        """A role by any name; `fields` are of its ReplicaSpec, as users write them."""
        spec = {"replicas": replicas, "template": self.template(), **fields}
        return replace(self, roles={**self.roles, name: spec})

    def ps(self, replicas: int = 1, **fields: object) -> "JobBuilder":
        return self.role("PS", replicas, **fields)

    def chief(self, **fields: object) -> "JobBuilder":
        return self.role("Chief", 1, **fields)

    def master(self, **fields: object) -> "JobBuilder":
        return self.role("Master", 1, **fields)

    def workers(self, replicas: int = 1, **fields: object) -> "JobBuilder":
        return self.role("Worker", replicas, **fields)

    def launcher(self, **fields: object) -> "JobBuilder":
        return self.role("Launcher", 1, **fields)

    def evaluator(self, **fields: object) -> "JobBuilder":
        return self.role("Evaluator", 1, **fields)

    def scope(self, scope: str) -> "JobBuilder":
        return self.with_spec(restartScope=scope)

    def suspended(self) -> "JobBuilder":
        return self.with_spec(suspend=True)

    def with_spec(self, **fields: object) -> "JobBuilder":
        """Fields of the spec, as users write them."""
        return replace(self, spec=self.spec | fields)

    def with_metadata(self, **fields: object) -> "JobBuilder":
        return replace(self, metadata=self.metadata | fields)

    def with_status(self, **fields: Any) -> "JobBuilder":  # noqa: ANN401 - checked by the struct
        """What the operator wrote before."""
        return replace(self, status=msgspec.structs.replace(self.status, **fields))

    def counted(self, role: str, **fields: Any) -> "JobBuilder":  # noqa: ANN401 - checked by the struct
        """What the operator wrote before about one role."""
        return self.with_status(replica_statuses={**self.status.replica_statuses, role: ReplicaStatus(**fields)})

    def said(self, kind: str, status: str = "True", reason: str = "Before") -> "JobBuilder":
        """A condition that was there before."""
        made = Condition(type=kind, status=status, reason=reason, last_transition_time=after(-600))  # type: ignore[arg-type]
        return self.with_status(conditions=(*self.status.conditions, made))

    def template(self) -> Object:
        """The least that runs."""
        return {"spec": {"containers": [{"name": self.kind.container, "image": "train:1"}]}}

    def build(self) -> TrainingJob:
        resource = self.kind.resource
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": self.name, "namespace": NAMESPACE, "uid": f"uid-{self.name}", "generation": 1}
            | {"resourceVersion": "1", "creationTimestamp": codec.plain(NOW)}
            | self.metadata,
            "spec": {**self.spec, self.kind.replicas_field: self.roles},
            "status": codec.plain(self.status),
        }
        return resource.decoder.decode(codec.encode(body))


def tf_job(name: str = "mnist") -> JobBuilder:
    """A TFJob without roles yet."""
    return JobBuilder(TensorFlow(), name)


def torch_job(name: str = "resnet") -> JobBuilder:
    """A PyTorchJob without roles yet."""
    return JobBuilder(PyTorch(), name)


def mpi_job(name: str = "pi") -> JobBuilder:
    """An MPIJob without roles yet."""
    return JobBuilder(MPI(), name)


@dataclass(frozen=True)
class PodBuilder:
    """A pod of a job as its caches show it; fresh ones are pending on no node."""

    job: JobBuilder
    replica: Replica
    metadata: Mapping[str, Any] = field(default_factory=dict)
    status: PodStatus = PENDING
    node: str = ""
    number: int = 0  # of the attempt
    restarts: int = 0
    sidecars: tuple[str, ...] = ()
    has_code: bool = True  # if the job asks for it

    def attempt(self, number: int) -> "PodBuilder":
        return replace(self, number=number)

    def uid(self, uid: str) -> "PodBuilder":
        return self._metadata(uid=uid)

    def on(self, node: str) -> "PodBuilder":
        return replace(self, node=node)

    def running(self, *, ready: bool = True) -> "PodBuilder":
        return self._status(phase="Running").condition("Ready", "True" if ready else "False")

    def restarted(self, times: int) -> "PodBuilder":
        """By its kubelet, in place."""
        return replace(self, restarts=times)

    def with_sidecar(self, name: str, *, restarted: int) -> "PodBuilder":
        """A native one: an init container that runs beside the others, and is always restarted."""
        status = ContainerStatus(name=name, restart_count=restarted)
        return replace(self._status(init_container_statuses=(status,)), sidecars=(*self.sidecars, name))

    def without_code(self) -> "PodBuilder":
        """Made before the job asked for code."""
        return replace(self, has_code=False)

    def succeeded(self, at: float = 0) -> "PodBuilder":
        return self._ended("Succeeded", 0, at)

    def failed(
        self, code: int, at: float = 0, *, reason: str = "", why: str = "Error", message: str = ""
    ) -> "PodBuilder":
        """Its main container ended with this code; `reason` is the kubelet's about the pod, `why` about the code."""
        return self._ended("Failed", code, at, reason=reason, why=why, message=message)

    def crashed(self, code: int, at: float = 0, *, why: str = "Error") -> "PodBuilder":
        """Its main container ended with this code before the kubelet restarted it in place."""
        ended = Terminated(exit_code=code, reason=why, finished_at=after(at))
        state = ContainerStatus(name=self.job.kind.container, last_state=ContainerState(terminated=ended))
        return self._status(container_statuses=(state,))

    def failed_before(self, code: int, name: str, at: float = 0, *, why: str = "Error") -> "PodBuilder":
        """An init container ended with this code, so the main one never ran."""
        ended = Terminated(exit_code=code, reason=why, finished_at=after(at))
        init = ContainerStatus(name=name, state=ContainerState(terminated=ended))
        main = ContainerStatus(name=self.job.kind.container, state=ContainerState(waiting=Waiting()))
        return self._status(phase="Failed", init_container_statuses=(init,), container_statuses=(main,))

    def refused(self, reason: str, message: str = "") -> "PodBuilder":
        """Failed before any container ran."""
        return self._status(phase="Failed", reason=reason, message=message)

    def going(self, at: float = 0) -> "PodBuilder":
        """Told to go while it ran; `at` is when its time is up."""
        return self._metadata(deletion_timestamp=after(at), deletion_grace_period_seconds=31)

    def collected(self, at: float = 0) -> "PodBuilder":
        """Deleted after it had ended, as the last word about it says."""
        return self._metadata(deletion_timestamp=after(at))

    def disrupted(self, reason: str = "EvictionByEvictionAPI", message: str = "") -> "PodBuilder":
        return self.condition("DisruptionTarget", "True", reason, message)

    def condition(self, kind: str, status: str, reason: str = "", message: str = "") -> "PodBuilder":
        kept = tuple(known for known in self.status.conditions if known.type != kind)
        return self._status(conditions=(*kept, PodCondition(type=kind, status=status, reason=reason, message=message)))

    def labelled(self, **spoiled: str) -> "PodBuilder":
        """Labels edited by somebody: `attempt="x"`."""
        return self._metadata(spoiled=spoiled)

    def build(self) -> Pod:
        made = self.job.build()
        job = self.job.kind.job(made)
        resource = self.job.kind.resource
        reference = OwnerReference(
            api_version=resource.api_version, kind=resource.kind, name=job.name, uid=job.uid, controller=True
        )
        given = dict(self.metadata)
        edited = {
            f"{labels.JOB_NAME.partition('/')[0]}/{name}": text for name, text in given.pop("spoiled", {}).items()
        }
        name = job.pod_name(self.replica)
        meta = ObjectMeta(
            **{
                "name": name,
                "uid": f"{name}.{self.number}",
                "resource_version": "1",
                "creation_timestamp": NOW,
                **given,
            },
            namespace=NAMESPACE,
            labels={**labels.of_pod(job, self.replica, self.number), **edited},
            owner_references=(reference,),
        )
        init = [InitContainer(name=name, restart_policy="Always") for name in self.sidecars]
        if self.has_code and code_source.is_wanted(made):
            init.append(InitContainer(name=git_sync_status.CONTAINER))
        spec = PodSpec(node_name=self.node, init_containers=tuple(init))
        return Pod(metadata=meta, spec=spec, status=self._with_restarts())

    def _with_restarts(self) -> PodStatus:
        known = self.status.container_statuses or (ContainerStatus(name=self.job.kind.container),)
        counted = tuple(msgspec.structs.replace(one, restart_count=self.restarts) for one in known)
        return msgspec.structs.replace(self.status, container_statuses=counted)

    def _ended(
        self, phase: str, code: int, at: float, *, reason: str = "", why: str = "Completed", message: str = ""
    ) -> "PodBuilder":
        ended = Terminated(exit_code=code, reason=why, message=message, finished_at=after(at))
        container = ContainerStatus(name=self.job.kind.container, state=ContainerState(terminated=ended))
        return self._status(phase=phase, reason=reason, container_statuses=(container,)).condition("Ready", "False")

    def _status(self, **fields: Any) -> "PodBuilder":  # noqa: ANN401 - checked by the struct
        return replace(self, status=msgspec.structs.replace(self.status, **fields))

    def _metadata(self, **fields: object) -> "PodBuilder":
        return replace(self, metadata={**self.metadata, **fields})


def pod(job: JobBuilder, role: str, index: int = 0) -> PodBuilder:
    """A pod of one replica."""
    return PodBuilder(job, Replica(role, index))


def observed(
    job: JobBuilder,
    *pods: PodBuilder,
    deleted: Iterable[PodBuilder] = (),
    has_service: bool = True,
    lost_nodes: Mapping[str, float] | None = None,
    now: float = 0,
    cache: CacheBackend | None = None,
    **more: Any,  # noqa: ANN401 - checked by the dataclass
) -> Observed:
    """What is known of a job; times are seconds after `NOW`."""
    return Observed(
        kind=job.kind,
        job=job.kind.job(job.build()),
        pods=tuple(one.build() for one in pods),
        deleted=tuple(one.build() for one in deleted),
        has_service=has_service,
        lost_nodes={node: after(since) for node, since in (lost_nodes or {}).items()},
        now=after(now),
        settings=Settings(),
        cache=cache,
        **more,
    )


def decide(job: JobBuilder, *pods: PodBuilder, **known: Any) -> Plan:  # noqa: ANN401 - those of `observed`
    """The plan for what is known of a job."""
    return plan(observed(job, *pods, **known))
