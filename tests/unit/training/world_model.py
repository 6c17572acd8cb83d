"""A model of everything around the operator: kubelets, a scheduler, collectors of garbage, and users.

Each public method is one move, which some of them make; it says whether there was anything to move. `truth` remembers
why a pod ended: the first thing that happened to it, whatever its status says later.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Literal, TypeVar

import msgspec

from harness.fakes.api_server import with_metadata
from kubedl.api.training import TrainingJob
from kubedl.kube.types.core import (
    NODES,
    PODS,
    SERVICES,
    ContainerState,
    ContainerStatus,
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    Pod,
    PodCondition,
    Taint,
    Terminated,
)
from kubedl.kube.types.meta import ObjectKey, ObjectMeta
from kubedl.training import labels
from kubedl.training.addons.git_sync_status import CONTAINER
from kubedl.training.elastic.notices import SOURCES
from kubedl.training.job import Job, JobRole
from kubedl.training.kind import Kind
from kubedl.training.policies.exit_codes import is_retryable
from tests.unit.training.api_model import ENDED, ApiModel, with_status

Truth = Literal["done", "retry", "free", "fatal"]
T = TypeVar("T")

NODE_NAMES = ("node1", "node2", "node3")


@dataclass
class World:
    """One job in one cluster. It may be deleted and made again under its name."""

    kind: Kind
    template: TrainingJob
    api: ApiModel
    truth: dict[str, Truth] = field(default_factory=dict)  # by pod uid
    born: int = 0  # jobs made so far
    pushed: int = 0  # commits of the repository that jobs may have their code from
    fetched: dict[str, str] = field(default_factory=dict)  # by pod uid: the commit

    def __post_init__(self) -> None:
        for name in NODE_NAMES:
            self._set_node(name, "True", self.api.now - timedelta(days=1))
        self.make_job()

    @cached_property
    def made(self) -> Job:
        """The job as its user made it."""
        return self.kind.job(self.template)

    @property
    def job(self) -> TrainingJob | None:
        found: TrainingJob | None = self.api.find(self.kind.resource, self.template.metadata.key)
        return found

    def pods(self, wanted: Callable[[Pod], bool] = lambda _: True) -> list[Pod]:
        return sorted((pod for pod in self.api.all(PODS) if wanted(pod)), key=lambda pod: str(pod.metadata.name))

    def running(self) -> list[Pod]:
        """Whose kubelet can be heard."""
        return self.pods(lambda pod: self._reachable(pod, "Running"))

    def count(self, role: str) -> int:
        """How many replicas the job wants of a role."""
        return self.kind.job(self.job).count(role) if self.job is not None else 0

    def is_lost(self, node: str) -> bool:
        found: Node | None = self.api.find(NODES, ObjectKey("", node))
        return found is not None and found.not_ready_since is not None

    # Users

    def make_job(self) -> bool:
        if self.job is not None:
            return False
        self.born += 1
        fresh = {"uid": f"job-{self.born}", "creation_timestamp": self.api.now, "generation": 1}
        self.api.put(self.kind.resource, with_metadata(self.template, **fresh))
        return True

    def delete_job(self) -> bool:
        if self.job is None:
            return False
        self.api.drop(self.kind.resource, self.template.metadata.key)
        return True

    def set_suspend(self, suspend: bool) -> bool:
        return self._edit_spec(suspend=suspend)

    def resize(self, role: int, replicas: int) -> bool:
        """Allowed only while suspended, and for an elastic role."""
        if self.job is None:
            return False
        specs, elastic = dict(self.job.spec.replica_specs), self.job.spec.elastic
        name = choose(sorted(specs), role)
        if elastic is not None and name == self.kind.elastic_role:
            replicas = min(max(replicas, elastic.min_replicas), elastic.max_replicas)
        elif not self.job.spec.suspend:
            return False
        if any(role.name == name and role.at_most is not None for role in self.kind.roles):
            return False
        specs[name] = msgspec.structs.replace(specs[name], replicas=replicas)
        return self._edit_spec(replica_specs=specs)

    def delete_pod(self, which: int, *, force: bool = False, disrupt: bool = False) -> bool:
        pod = choose(self.pods(), which)
        if pod is None:
            return False
        if pod.status.phase not in ENDED:
            self.truth.setdefault(pod.metadata.uid, "free")
            if disrupt:
                pod = self._condition(pod, "DisruptionTarget")
        self.api.delete(PODS, pod.metadata.key, pod.metadata.uid, 0 if force else None)
        return True

    def spoil_label(self, which: int, attempt: str) -> bool:
        pod = choose(self.pods(), which)
        if pod is None:
            return False
        self.api.put(PODS, with_metadata(pod, labels={**pod.metadata.labels, labels.ATTEMPT: attempt}))
        return True

    # Scheduler and kubelets

    def bind(self, which: int, node: int) -> bool:
        pod = choose(self.pods(lambda one: not one.spec.node_name), which)
        if pod is None:
            return False
        alive = [name for name in NODE_NAMES if not self.is_lost(name)]
        if not alive:
            return False
        place = node + int(pod.metadata.labels[labels.REPLICA_INDEX])  # replicas of a role are spread
        name = alive[place % len(alive)]
        self.api.put(PODS, msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=name)))
        return True

    def start(self, which: int) -> bool:
        pod = choose(
            self.pods(lambda one: self._reachable(one, "Pending") and not one.metadata.deletion_timestamp), which
        )
        if pod is None:
            return False
        if self._fetch(pod):
            return True
        container = ContainerStatus(name=self.kind.container, ready=True)
        self._condition(with_status(pod, phase="Running", container_statuses=(container,)), "Ready")
        return True

    def push(self) -> bool:
        """Somebody's new commit."""
        self.pushed += 1
        return True

    def _fetch(self, pod: Pod) -> bool:
        """The init container fetches the commit that it is told to, else the newest."""
        spec = self.api.bodies[pod.metadata.uid]["spec"]
        if not spec.get("initContainers") or pod.metadata.uid in self.fetched:
            return False
        variables = {entry["name"]: entry["value"] for entry in spec["initContainers"][0]["env"]}
        commit = variables["KUBEDL_GIT_REVISION"] or f"{self.pushed:040x}"
        self.fetched[pod.metadata.uid] = commit
        ended = Terminated(message=commit, finished_at=self.api.now)
        status = ContainerStatus(name=CONTAINER, state=ContainerState(terminated=ended))
        self.api.put(PODS, with_status(pod, init_container_statuses=(status,)))
        return True

    def exit(self, which: int, code: int) -> bool:
        """The main process of a running pod ends; its kubelet starts it again if the pod says so."""
        pod = choose(self.running(), which)
        if pod is None:
            return False
        policy = self.api.bodies[pod.metadata.uid]["spec"]["restartPolicy"]
        told_to_go = pod.metadata.deletion_timestamp is not None
        if not told_to_go and (policy == "Always" or (policy == "OnFailure" and code)):
            again = msgspec.structs.replace(
                pod.status.container_statuses[0], restart_count=restarts(pod) + 1, state=ContainerState()
            )
            self.api.put(PODS, with_status(pod, container_statuses=(again,)))
            return True
        self.truth.setdefault(pod.metadata.uid, self._meaning(pod, code))
        ended = Terminated(exit_code=code, reason="Error" if code else "Completed", finished_at=self.api.now)
        container = msgspec.structs.replace(
            pod.status.container_statuses[0], ready=False, state=ContainerState(terminated=ended)
        )
        self.api.put(PODS, with_status(pod, phase="Failed" if code else "Succeeded", container_statuses=(container,)))
        return True

    def refuse(self, which: int) -> bool:
        """A kubelet whose node is short of something evicts a running pod or refuses to start one."""
        pod = choose(self.pods(lambda one: self._reachable(one, "Pending", "Running")), which)
        if pod is None:
            return False
        self.truth.setdefault(pod.metadata.uid, "free")
        self._condition(with_status(pod, phase="Failed", reason="Evicted"), "DisruptionTarget")
        return True

    def exceed(self, which: int) -> bool:
        """A kubelet evicts a pod that uses more storage than it may."""
        pod = choose(self.running(), which)
        if pod is None:
            return False
        fatal = self._role(pod).restart_policy == "Never"
        self.truth.setdefault(pod.metadata.uid, "fatal" if fatal else "retry")
        self.api.put(PODS, with_status(pod, phase="Failed", reason="Evicted"))
        return True

    def reap(self, which: int) -> bool:
        """A kubelet has ended what was told to go."""
        pod = choose(self.pods(lambda one: bool(one.metadata.deletion_timestamp) and self._is_over(one)), which)
        if pod is None:
            return False
        self.api.drop(PODS, pod.metadata.key)
        return True

    # The cluster's own controllers

    def lose_node(self, which: int) -> bool:
        alive = [name for name in NODE_NAMES if not self.is_lost(name)]
        if not alive:
            return False
        self._set_node(alive[which % len(alive)], "Unknown")
        return True

    def return_node(self, which: int) -> bool:
        name = choose([name for name in NODE_NAMES if self.is_lost(name)], which)
        if name is None:
            return False
        self._set_node(name, "True")
        return True

    def give_notice(self, which: int, how: int) -> bool:
        """A cloud says that it will take a node."""
        return self._taint(NODE_NAMES[which % len(NODE_NAMES)], (Taint(key=SOURCES[how % len(SOURCES)].key),))

    def withdraw_notice(self, which: int) -> bool:
        """A cloud leaves a node where it is."""
        return self._taint(NODE_NAMES[which % len(NODE_NAMES)], ())

    def _taint(self, name: str, taints: tuple[Taint, ...]) -> bool:
        node: Node = self.api.find(NODES, ObjectKey("", name))
        if node.spec.taints == taints:
            return False
        self.api.put(NODES, msgspec.structs.replace(node, spec=NodeSpec(taints=taints)))
        return True

    def end_outage(self) -> None:
        """Nodes do not stay lost all at once."""
        if all(map(self.is_lost, NODE_NAMES)):
            self.return_node(0)

    def evict_from_lost(self, which: int) -> bool:
        """The taint manager deletes a pod whose node is lost; nobody is there to end it."""
        on_lost = self.pods(lambda one: bool(one.spec.node_name) and self.is_lost(one.spec.node_name))
        pod = choose([one for one in on_lost if one.metadata.deletion_timestamp is None], which)
        if pod is None:
            return False
        if pod.status.phase not in ENDED:
            self.truth.setdefault(pod.metadata.uid, "free")
        self.api.delete(PODS, pod.metadata.key, pod.metadata.uid, None)
        return True

    def collect_ended(self, which: int) -> bool:
        """The collector of terminated pods."""
        pod = choose(self.pods(lambda one: one.status.phase in ENDED), which)
        if pod is None:
            return False
        self.api.drop(PODS, pod.metadata.key)
        return True

    def collect_orphan(self, which: int) -> bool:
        """The garbage collector deletes what belonged to a job that is gone."""
        alive = self.job.metadata.uid if self.job is not None else None
        for resource in (SERVICES, PODS):
            orphans = [one for one in self.api.all(resource) if one.metadata.controller.uid != alive]
            orphan = choose([one for one in orphans if one.metadata.deletion_timestamp is None], which)
            if orphan is not None:
                self.truth.setdefault(orphan.metadata.uid, "free")
                self.api.delete(resource, orphan.metadata.key, orphan.metadata.uid, None)
                return True
        return False

    def _reachable(self, pod: Pod, *phases: str) -> bool:
        return bool(pod.spec.node_name) and not self.is_lost(pod.spec.node_name) and pod.status.phase in phases

    def _is_over(self, pod: Pod) -> bool:
        """One that never started ends without an exit code."""
        return self._reachable(pod, *ENDED, "Pending") or not pod.spec.node_name

    def _meaning(self, pod: Pod, code: int) -> Truth:
        if code == 0:
            return "done"
        role = self._role(pod)
        scope = self.template.spec.restart_scope or self.kind.restart_scope(self.made)
        if role.restart_policy == "ExitCode":
            return "retry" if is_retryable(Terminated(exit_code=code), role) else "fatal"
        return "retry" if role.restart_policy == "OnFailure" and scope == "Job" else "fatal"

    def _role(self, pod: Pod) -> JobRole:
        return next(
            role for role in self.made.roles.values() if role.name.lower() == pod.metadata.labels[labels.REPLICA_TYPE]
        )

    def _condition(self, pod: Pod, kind: str) -> Pod:
        new = PodCondition(type=kind, status="True", reason=kind, last_transition_time=self.api.now)
        conditions = (*(known for known in pod.status.conditions if known.type != kind), new)
        changed: Pod = self.api.put(PODS, with_status(pod, conditions=conditions))
        return changed

    def _edit_spec(self, **fields: Any) -> bool:  # noqa: ANN401 - checked by the struct
        job = self.job
        if job is None:
            return False
        spec = msgspec.structs.replace(job.spec, **fields)
        if spec == job.spec:
            return False
        job = with_metadata(job, generation=job.metadata.generation + 1)
        self.api.put(self.kind.resource, msgspec.structs.replace(job, spec=spec))
        return True

    def _set_node(self, name: str, ready: str, since: datetime | None = None) -> None:
        conditions = (NodeCondition(type="Ready", status=ready, last_transition_time=since or self.api.now),)
        node = self.api.find(NODES, ObjectKey("", name)) or Node(metadata=ObjectMeta(name=name, uid=name))
        self.api.put(NODES, msgspec.structs.replace(node, status=NodeStatus(conditions=conditions)))


def restarts(pod: Pod) -> int:
    """How often its kubelet has restarted it in place."""
    return sum(status.restart_count for status in pod.status.container_statuses)


def choose(members: Sequence[T], which: int) -> T | None:
    """One of them, whatever the number; None if there is none."""
    return members[which % len(members)] if members else None
