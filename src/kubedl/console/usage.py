"""What pods hold on nodes, kept up to date with the cache, so that no answer has to go through all pods."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kubedl.console.kinds import ShownPod, job_kind
from kubedl.history.observed import RecordedContainer, TemplateSpec
from kubedl.history.resource_requests import Requests, of_pod
from kubedl.runtime.store import Store

ENDED = frozenset({"Succeeded", "Failed"})  # phases in which a pod holds nothing
NOTHING = Requests()


class HeldBy(NamedTuple):
    """Who holds GPUs: a job, or a pod of none of ours."""

    namespace: str
    kind: str  # in addresses, pytorchjob; empty: of no job of ours
    name: str


class Usage:
    """The requests of the pods of each node that have not ended."""

    def __init__(self, pods: Store[ShownPod]) -> None:
        self._held: dict[str, tuple[str, Requests, HeldBy]] = {}  # node, requests and for whom, by the uid of a pod
        self._nodes: dict[str, Requests] = {}
        self._gpus: Counter[HeldBy] = Counter()
        self._listeners: list[Callable[[], None]] = []
        pods.subscribe(self._pod_changed)

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` when a node has more or less to offer than before."""
        self._listeners.append(listener)

    def of_node(self, name: str) -> Requests:
        """Return what the pods of a node hold."""
        return self._nodes.get(name, NOTHING)

    @property
    def gpus(self) -> Mapping[HeldBy, int]:
        """Return who holds how many GPUs."""
        return self._gpus

    def of_held(self, pod: ShownPod) -> Requests:
        """Return what a pod holds; nothing before it has a node, and after its end."""
        held = self._held.get(pod.metadata.uid)
        return held[1] if held is not None else NOTHING

    def _pod_changed(self, old: ShownPod | None, new: ShownPod | None) -> None:
        pod = new if new is not None else old
        if pod is None:
            return
        uid = pod.metadata.uid
        before = self._held.get(uid)
        now = (pod.spec.node_name, requests_of(pod), holder(pod)) if new is not None and _holds(pod) else None
        if before == now:
            return
        if before is not None:
            del self._held[uid]
            self._move(*before, -1)
        if now is not None:
            self._held[uid] = now
            self._move(*now, 1)
        for listener in self._listeners:
            listener()

    def _move(self, node: str, amount: Requests, who: HeldBy, sign: int) -> None:
        self._gpus[who] += amount.gpus * sign
        if not self._gpus[who]:
            del self._gpus[who]
        total = summed((self.of_node(node), amount.times(sign)))
        if total == NOTHING:
            self._nodes.pop(node, None)
        else:
            self._nodes[node] = total


def holder(pod: ShownPod) -> HeldBy:
    """Return the job of a pod, or the pod itself."""
    owner = pod.metadata.controller
    kind = job_kind(owner)
    return HeldBy(pod.metadata.namespace, kind, owner.name if owner is not None and kind else pod.metadata.name)


def requests_of(pod: ShownPod) -> Requests:
    """Return what a pod requests, as the scheduler counts it."""
    first = tuple(
        RecordedContainer(restart_policy=one.restart_policy, resources=one.resources)
        for one in pod.spec.init_containers
    )
    containers = tuple(RecordedContainer(resources=one.resources) for one in pod.spec.containers)
    return of_pod(TemplateSpec(containers=containers, init_containers=first, overhead=pod.spec.overhead))


def summed(amounts: Iterable[Requests]) -> Requests:
    """Return the sum of several."""
    found = list(amounts)
    return Requests(
        sum(one.cpu_millis for one in found), sum(one.memory_bytes for one in found), sum(one.gpus for one in found)
    )


def _holds(pod: ShownPod) -> bool:
    return bool(pod.spec.node_name) and pod.status.phase not in ENDED
