"""What must hold at every write of the operator, judged by what really happened in the world.

The judge knows why each pod ended and what the operator could see when it wrote, and nothing of how it decides.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.fakes.api_server import merged
from kubedl.api.conditions import is_true
from kubedl.api.elastic import Reclaim
from kubedl.api.training import JobStatus, ReplicaStatus, TrainingJob
from kubedl.kube import codec
from kubedl.kube.types.core import PODS, SERVICES, Pod
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.runtime.store import BY_OWNER, OwnerKey
from kubedl.training import labels
from kubedl.training.host_network.ports import HOST_PORT, JOB_PORTS
from kubedl.training.job import Replica
from kubedl.training.policies import index_ranges
from tests.training_builders import NAMESPACE
from tests.unit.training.api_model import ENDED
from tests.unit.training.operator_model import OperatorModel
from tests.unit.training.world_model import World, restarts

MOST = 4  # replicas that a role has in any world


@dataclass
class Judge:
    """Is asked before each write is made."""

    world: World
    spoiled: bool = False  # somebody has edited labels: attempts need not be what they were

    def __call__(self, operator: OperatorModel, verb: str, resource: Resource[Any], what: Any) -> None:  # noqa: ANN401
        self._commits()
        if verb == "create" and resource is PODS:
            self._creation(operator, what)
        elif verb in ("delete", "force") and resource is PODS:
            self._deletion(what)
            lost = sum(node.not_ready_since is not None for node in operator.nodes)
            assert verb == "delete" or lost < len(operator.nodes), f"{what} is given up although every node is lost"
        elif verb == "patch" and resource is not SERVICES:
            self._status(operator, what)

    def _commits(self) -> None:
        """Pods of a job that are there at the same time have the same code, and that which the status tells of."""
        for uid in {owner(pod) for pod in self.world.pods()}:
            pods = self.world.pods(lambda pod, uid=uid: owner(pod) == uid)  # type: ignore[misc]
            commits = {self.world.fetched.get(pod.metadata.uid) for pod in pods} - {None}
            job = self.world.job
            if job is not None and job.metadata.uid == uid and job.status.code_revision:
                commits.add(job.status.code_revision)
            assert len(commits) <= 1, f"pods of one job have {commits}"

    def _creation(self, operator: OperatorModel, body: Mapping[str, Any]) -> None:
        name, uid = body["metadata"]["name"], body["metadata"]["ownerReferences"][0]["uid"]
        attempt = int(body["metadata"]["labels"][labels.ATTEMPT])
        job = self.world.job
        known = operator.pods.get(ObjectKey(body["metadata"]["namespace"], name))
        assert known is None or owner(known) != uid, f"{name} is there and was seen"
        if job is None or job.metadata.uid != uid:
            return  # the operator cannot know yet that its job is gone; the garbage collector will take the pod
        self._ports(uid, body["metadata"])
        role, index = self._replica(name)
        assert not _is_finished(job.status), f"{name} is made after the end of the job"
        assert attempt <= self._attempt(job.status, role, index), f"attempt {attempt} of {name} was never written"
        self._never_again(operator, job, name, attempt)
        in_place = not self.world.kind.restarts_to_resize(self.world.kind.job(job))
        if job.spec.elastic is not None:
            self._same_variable(uid, body, "PET_RDZV_ID" if in_place else "WORLD_SIZE")
        if self._scope() == "Job" and (job.spec.elastic is None or not in_place):
            others = self.world.pods(lambda pod: pod.metadata.controller is not None and owner(pod) == uid)
            mixed = {labels.attempt(pod) for pod in others if pod.metadata.name != name} - {attempt}
            assert not mixed or self.spoiled, f"{name} of attempt {attempt} meets pods of {mixed}"

    def _same_variable(self, uid: str, body: Mapping[str, Any], name: str) -> None:
        """Pods of an elastic job that are there at the same time meet each other, whenever they came."""
        others = self.world.pods(lambda pod: owner(pod) == uid and pod.metadata.name != body["metadata"]["name"])
        met = {_variable(self.world.api.bodies[pod.metadata.uid], name) for pod in others}
        assert met <= {_variable(body, name)} or self.spoiled, f"{body['metadata']['name']} meets pods of {met}"

    def _ports(self, uid: str, meta: Mapping[str, Any]) -> None:
        """Pods that live at the same time have different host ports; without Services they agree about all of them."""
        others = self.world.pods(lambda pod: pod.metadata.controller is not None and owner(pod) == uid)
        living = [pod for pod in others if pod.status.phase not in ENDED and pod.metadata.name != meta["name"]]
        annotations = meta["annotations"]
        for pod in living:
            found = pod.metadata.annotations
            assert (HOST_PORT in found) == (HOST_PORT in annotations), "pods of one job are on different networks"
            assert HOST_PORT not in found or found[HOST_PORT] != annotations[HOST_PORT], "two pods with one port"
            known = pod.metadata.deletion_timestamp is None and JOB_PORTS in found
            assert not known or found[JOB_PORTS] == annotations[JOB_PORTS], "peers know different ports"

    def _never_again(self, operator: OperatorModel, job: TrainingJob, name: str, attempt: int) -> None:
        role, index = self._replica(name)
        written = _replica_status(job.status, role)
        assert index not in index_ranges.read(written.succeeded_indexes), f"{name} has succeeded, and is made again"
        for pod in operator.pods.tombstones(job.metadata.uid):
            if pod.metadata.name == name and labels.attempt(pod) == attempt and not self.spoiled:
                truth = self.world.truth.get(pod.metadata.uid)
                assert truth != "done", f"{name} has succeeded, which was seen, and is made again"

    def _deletion(self, key: ObjectKey) -> None:
        """Whatever a pod does after it was told to go, it did not do it by itself."""
        pod = self.world.api.find(PODS, key)
        if pod is not None and pod.status.phase not in ENDED:
            self.world.truth.setdefault(pod.metadata.uid, "free")

    def _status(self, operator: OperatorModel, body: Mapping[str, Any]) -> None:
        job = self.world.job
        guard = body["metadata"]
        if job is None or (job.metadata.uid, job.metadata.resource_version) != (guard["uid"], guard["resourceVersion"]):
            return  # it will be refused
        old = job.status
        new = codec.decode(codec.encode(merged(codec.plain(old), body["status"])), JobStatus)
        assert new != old, "a status is written that says nothing new"
        assert not _is_finished(old), "the status of a job is changed after its end"
        self._successes(new, job.metadata.uid)
        if not self.spoiled:
            self._retries(operator, old, new, job.metadata.uid)
            self._ending(operator, job, new)

    def _successes(self, new: JobStatus, uid: str) -> None:
        """Whoever is called done has ended by itself with 0."""
        done = {
            body["metadata"]["name"]
            for pod, body in self.world.api.bodies.items()
            if self.world.truth.get(pod) == "done" and body["metadata"]["ownerReferences"][0]["uid"] == uid
        }
        for role, status in new.replica_statuses.items():
            named = {self._name(role, index) for index in index_ranges.read(status.succeeded_indexes)}
            assert named <= done, f"{named - done} are called succeeded"

    def _retries(self, operator: OperatorModel, old: JobStatus, new: JobStatus, uid: str) -> None:
        """Each death is counted once, and only one that is the replica's own."""
        left_by_notice, all_start_over = self._reclaimed(operator, old, new, uid)
        if all_start_over:
            assert new.retries == old.retries, "a retry is counted, but the first replica leaves its node"
            return
        moved = [
            (role, index)
            for role in self.world.made.roles
            for index in range(self._known(old, role))
            if not _is_removed(new, role, index) and self._attempt(new, role, index) != self._attempt(old, role, index)
            if role != "Worker" or index not in left_by_notice
        ]
        visible = {(pod.metadata.name, labels.attempt(pod)): pod for pod in self._visible(operator, uid)}
        left = [
            pod
            for role, index in moved
            if (pod := visible.get((self._name(role, index), self._attempt(old, role, index)))) is not None
        ]
        resumed = is_true(old.conditions, "Suspended") and not is_true(new.conditions, "Suspended")
        if resumed:  # a pod that was deleted meanwhile says nothing any more: its job was to have none
            left = [pod for pod in left if operator.pods.get(pod.metadata.key) is pod]
        causes = [self._cause(operator, pod) for pod in left]
        if self._scope() == "Job":
            names = {pod.metadata.name for pod in left} | {self._name("Worker", index) for index in left_by_notice}
            missing = any(self._is_missing(old, role, names) for role, _ in moved)
            assert not moved or missing or resumed or {"retry", "free"} & {*causes}, (
                "all are restarted, but nobody died"
            )
            counted = int("retry" in causes and "free" not in causes and not missing)
        else:
            assert "done" not in causes, "a replica that has succeeded is replaced"
            counted = causes.count("retry")
        in_place = sum(restarts(pod) for pod in left)
        assert new.retries - old.retries == counted + in_place, (
            f"{new.retries - old.retries} retries are counted, but {counted} replicas died and {in_place} restarted"
        )

    def _reclaimed(
        self, operator: OperatorModel, old: JobStatus, new: JobStatus, uid: str
    ) -> tuple[frozenset[int], bool]:
        """Return the workers that leave their nodes by this write, and whether the first replica is among them.

        Nobody leaves a node that will not be taken, unless somebody else has told it to go.
        """
        before = {_identity(one) for one in _reclaims(old) if one.left_at is not None}
        leaving = [one for one in _reclaims(new) if one.left_at is not None and _identity(one) not in before]
        for one in leaving:
            node = operator.nodes.get(ObjectKey("", one.node))
            there = [pod for pod in self._visible(operator, uid) if pod.spec.node_name == one.node]
            told = any(pod.metadata.deletion_timestamp is not None for pod in there) or not one.node
            evicted = any(pod.condition("DisruptionTarget") is not None for pod in there)
            assert told or evicted or (node is not None and node.spec.taints), f"{one.replicas} leave {one.node}"
        indexes = [index for one in leaving if one.node for index in index_ranges.read(one.replicas)]
        return frozenset(indexes), self._start_over(old, new, [one for one in leaving if one.node])

    def _start_over(self, old: JobStatus, new: JobStatus, leaving: Sequence[Reclaim]) -> bool:
        """Whether all replicas start over although none has died: to leave a node, or to be another number."""
        job = self.world.job
        if job is None or old.elastic is None or new.elastic is None:
            return False
        if not self.world.kind.restarts_to_resize(self.world.kind.job(job)):
            return any(one.leader for one in leaving)
        return bool(leaving) or (old.start_time is not None and old.elastic.size != new.elastic.size)

    def _known(self, status: JobStatus, role: str) -> int:
        """How many replicas a role has, with those that are removed once their program has saved."""
        size = status.elastic.size if status.elastic is not None and role == "Worker" else 0
        return max(self.world.count(role), size)

    def _is_missing(self, old: JobStatus, role: str, visible: set[str]) -> bool:
        """Whether a pod that had been made and counted is gone without a trace."""
        recorded = _replica_status(old, role)
        done, wanted = index_ranges.read(recorded.succeeded_indexes), self.world.count(role)
        if old.elastic is not None and role == "Worker":  # how many they were says nothing: some have left
            members = index_ranges.read(old.elastic.members)
            return any(index < wanted and self._name(role, index) not in visible for index in members - done)
        traces = sum(index in done or self._name(role, index) in visible for index in range(wanted))
        return traces < wanted <= recorded.active + recorded.failed + recorded.succeeded

    def _cause(self, operator: OperatorModel, pod: Pod) -> str | None:
        """Why the operator must believe that this pod is out; None if it seems well."""
        node = operator.nodes.get(ObjectKey("", pod.spec.node_name))
        lost = node is not None and node.not_ready_since is not None
        if pod.status.phase in ENDED:
            return self.world.truth.get(pod.metadata.uid)
        if pod.metadata.deletion_timestamp is not None or lost or operator.pods.get(pod.metadata.key) is None:
            return "free"
        return None

    def _ending(self, operator: OperatorModel, job: TrainingJob, new: JobStatus) -> None:
        """A job fails only for a reason."""
        if not is_true(new.conditions, "Failed"):
            return
        pods = self._visible(operator, job.metadata.uid)
        if new.reason == "ReplicaFailed":
            assert any(self.world.truth.get(pod.metadata.uid) == "fatal" for pod in pods), "nobody failed for good"
        elif new.reason == "BackoffLimitExceeded":
            assert new.retries + sum(map(restarts, pods)) > job.spec.backoff_limit, "the limit was not reached"
        else:
            assert new.reason == "DeadlineExceeded"
            assert job.status.start_time is not None
            age = (self.world.api.now - job.status.start_time).total_seconds()
            assert age >= job.spec.active_deadline_seconds, "the deadline is yet to come"

    def _visible(self, operator: OperatorModel, uid: str) -> list[Pod]:
        job = OwnerKey(NAMESPACE, uid)
        return [*operator.pods.tombstones(job), *operator.pods.by_index(BY_OWNER, job)]

    def _scope(self) -> str:
        chosen = self.world.template.spec.restart_scope
        return chosen or self.world.kind.restart_scope(self.world.made)

    def _name(self, role: str, index: int) -> str:
        return self.world.made.pod_name(Replica(role, index))

    def _replica(self, name: str) -> tuple[str, int]:
        known = ((role.name, index) for role in self.world.kind.roles for index in range(MOST))
        return next(replica for replica in known if self._name(*replica) == name)

    def _attempt(self, status: JobStatus, role: str, index: int) -> int:
        return status.attempt + _replica_status(status, role).attempts.get(str(index), 0)


def owner(pod: Pod) -> str | None:
    """The uid of the job that a pod belongs to."""
    return pod.metadata.controller.uid if pod.metadata.controller is not None else None


def _variable(body: Mapping[str, Any], name: str) -> str:
    variables = body["spec"]["containers"][0]["env"]
    return next(str(one["value"]) for one in variables if one["name"] == name)


def _is_removed(status: JobStatus, role: str, index: int) -> bool:
    """Whether an elastic job was given fewer replicas than its user asks for."""
    return status.elastic is not None and role == "Worker" and index >= status.elastic.size


def _reclaims(status: JobStatus) -> tuple[Reclaim, ...]:
    return status.elastic.reclaims if status.elastic is not None else ()


def _identity(reclaim: Reclaim) -> object:
    """Tell one record that left from others, which may be of the same node and second."""
    return reclaim.node, reclaim.source == "DisruptionTarget", reclaim.left_at, reclaim.replicas, reclaim.leader


def _replica_status(status: JobStatus, role: str) -> ReplicaStatus:
    return status.replica_statuses.get(role, ReplicaStatus())


def _is_finished(status: JobStatus) -> bool:
    return is_true(status.conditions, "Succeeded") or is_true(status.conditions, "Failed")
