"""What pods hold on nodes, kept up to date with the cache, so that no answer has to go through all pods."""

from collections.abc import Callable, Iterable

from kubedl.console.kinds import ShownPod
from kubedl.history.observed import RecordedContainer, TemplateSpec
from kubedl.history.resource_requests import Requests, of_pod
from kubedl.runtime.store import Store

ENDED = frozenset({"Succeeded", "Failed"})  # phases in which a pod holds nothing
NOTHING = Requests()


class Usage:
    """The requests of the pods of each node that have not ended."""

    def __init__(self, pods: Store[ShownPod]) -> None:
        self._held: dict[str, tuple[str, Requests]] = {}  # node and requests by the uid of a pod
        self._nodes: dict[str, Requests] = {}
        self._listeners: list[Callable[[], None]] = []
        pods.subscribe(self._pod_changed)

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` when a node has more or less to offer than before."""
        self._listeners.append(listener)

    def of_node(self, name: str) -> Requests:
        """Return what the pods of a node hold."""
        return self._nodes.get(name, NOTHING)

    def of_held(self, pod: ShownPod) -> Requests:
        """Return what a pod holds; nothing before it has a node, and after its end."""
        return self._held.get(pod.metadata.uid, ("", NOTHING))[1]

    def _pod_changed(self, old: ShownPod | None, new: ShownPod | None) -> None:
        pod = new if new is not None else old
        if pod is None:
            return
        uid = pod.metadata.uid
        before = self._held.get(uid)
        now = (pod.spec.node_name, requests_of(pod)) if new is not None and _holds(pod) else None
        if before == now:
            return
        if before is not None:
            del self._held[uid]
            self._move(before[0], before[1], -1)
        if now is not None:
            self._held[uid] = now
            self._move(now[0], now[1], 1)
        for listener in self._listeners:
            listener()

    def _move(self, node: str, amount: Requests, sign: int) -> None:
        total = summed((self.of_node(node), amount.times(sign)))
        if total == NOTHING:
            self._nodes.pop(node, None)
        else:
            self._nodes[node] = total


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
