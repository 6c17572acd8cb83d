"""What the API answers about nodes: figures for those who may list nodes, names only where they may be listed too."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubedl.console.cache import BY_NODE, Stores
from kubedl.console.journal import Place
from kubedl.console.kinds import NODES, PODS, ShownNode, ShownPod, job_kind, job_resources
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError, forbidden
from kubedl.console.rights import Question, Rights, View
from kubedl.console.usage import ENDED, NOTHING, summed
from kubedl.console.wire_nodes import Capacity, Holder, NodeList, NodePage, NodePod, NodeRow, NodeStateRow, Share
from kubedl.history.resource_requests import Requests, of_amounts
from kubedl.kube.types.meta import ObjectKey

PAGE = 100  # nodes
MOST_PODS = 500
MOST_HOLDERS = 64  # of the GPUs of one node
GPU_MODELS = ("nvidia.com/gpu.product", "amd.com/gpu.product-name")  # labels of nodes


@dataclass(frozen=True)
class PodView:
    """Which pods and jobs a person may list."""

    view: View

    def shows(self, pod: ShownPod) -> bool:
        """Return whether a pod may be named."""
        return self.view.shows(Place(PODS.name, pod.metadata.namespace))

    def job_of(self, pod: ShownPod) -> tuple[str, str]:
        """Return kind and name of the job of a pod; empty if it has none that may be named."""
        owner = pod.metadata.controller
        kind = job_kind(owner)
        if owner is None or not kind or not self.view.shows(Place(job_resources()[kind].name, pod.metadata.namespace)):
            return "", ""
        return owner.kind, owner.name


@dataclass(frozen=True)
class NodePages:
    """Answers for one caller at a time."""

    stores: Stores
    rights: Rights

    async def capacity(self, caller: Caller) -> Capacity:
        """Return what the cluster has and what is free."""
        await self.insist(caller)
        nodes = list(self.stores.nodes)
        closed = [node for node in nodes if not is_open(node)]
        known = not self.stores.namespace
        free = {node.metadata.name: self.free_on(node) for node in nodes if is_open(node)} if known else {}
        node, most = max(
            ((name, one.gpus) for name, one in sorted(free.items())), key=lambda one: one[1], default=("", 0)
        )
        cpu, memory, gpus = shares(
            summed(map(offer, nodes)),
            summed(self.stores.usage.of_node(node.metadata.name) for node in nodes) if known else None,
            summed(free.values()) if known else None,
            summed(map(self.free_on, closed)) if known else None,
        )
        return Capacity(
            nodes=len(nodes),
            closed_nodes=len(closed),
            cpu=cpu,
            memory=memory,
            gpus=gpus,
            largest_block=most,
            largest_block_node=node if most else "",
            only_namespace=self.stores.namespace,
        )

    async def nodes(self, caller: Caller, search: str, after: str) -> NodeList:
        """Return a page of the nodes whose names contain a text, after the one of this name."""
        await self.insist(caller)
        found = {node.metadata.name: node for node in self.stores.nodes if search in node.metadata.name}
        names = sorted(name for name in found if name > after)
        shown = names[:PAGE]
        pods = {name: self.pods_on(name) for name in shown}
        view = await self.pod_view(caller, (pod for one in pods.values() for pod in one))
        return NodeList(
            rows=[self._row(found[name], pods[name], view) for name in shown],
            total=len(found),
            after=shown[-1] if len(names) > PAGE else "",
            only_namespace=self.stores.namespace,
        )

    async def node(self, caller: Caller, name: str) -> NodePage:
        """Return one node with its pods."""
        await self.insist(caller)
        node = self.stores.nodes.get(ObjectKey("", name))
        if node is None:
            raise RefusalError(
                404, f"no node {name}", "it does not exist, or was removed", "Look in the list of nodes."
            )
        pods = self.pods_on(name)
        view = await self.pod_view(caller, pods)
        shown = [pod for pod in pods if view.shows(pod)]
        rows = sorted((self._pod(pod, view) for pod in shown), key=_largest)
        conditions = node.status.conditions
        return NodePage(
            node=self._row(node, pods, view),
            conditions=[NodeStateRow(type=c.type, status=c.status, since=c.last_transition_time) for c in conditions],
            pods=rows[:MOST_PODS],
            more_pods=max(0, len(rows) - MOST_PODS),
            hidden_pods=len(pods) - len(shown),
            only_namespace=self.stores.namespace,
        )

    def pods_on(self, node: str) -> list[ShownPod]:
        """Return the pods of a node that have not ended."""
        return [pod for pod in self.stores.pods.by_index(BY_NODE, node) if pod.status.phase not in ENDED]

    async def pod_view(self, caller: Caller, pods: Iterable[ShownPod]) -> PodView:
        """Return which of these pods, and of their jobs, a person may list."""
        places: dict[str, set[str]] = {}
        for pod in pods:
            places.setdefault(PODS.name, set()).add(pod.metadata.namespace)
            if kind := job_kind(pod.metadata.controller):
                places.setdefault(job_resources()[kind].name, set()).add(pod.metadata.namespace)
        return PodView(await self.rights.view(caller, places))

    def _row(self, node: ShownNode, pods: Sequence[ShownPod], view: PodView) -> NodeRow:
        known = not self.stores.namespace
        free, nothing = self.free_on(node), NOTHING
        spare = (free, nothing) if is_open(node) else (nothing, free)
        held = self.stores.usage.of_node(node.metadata.name)
        cpu, memory, gpus = shares(offer(node), *((held, *spare) if known else (None, None, None)))
        with_gpus = [(pod, one) for pod in pods if (one := self.stores.usage.of_held(pod).gpus)]
        holders = [_holder(pod, one, view) for pod, one in with_gpus if view.shows(pod)]
        return NodeRow(
            name=node.metadata.name,
            ready=is_ready(node),
            cordoned=node.spec.unschedulable,
            gpu_model=next((node.metadata.labels[name] for name in GPU_MODELS if name in node.metadata.labels), ""),
            cpu=cpu,
            memory=memory,
            gpus=gpus,
            pods=len(pods),
            holders=sorted(holders, key=lambda one: (-one.gpus, one.namespace, one.pod))[:MOST_HOLDERS],
            hidden_gpus=sum(one for pod, one in with_gpus if not view.shows(pod)),
        )

    def _pod(self, pod: ShownPod, view: PodView) -> NodePod:
        held, meta = self.stores.usage.of_held(pod), pod.metadata
        kind, job = view.job_of(pod)
        return NodePod(
            namespace=meta.namespace,
            name=meta.name,
            phase="Terminating" if meta.deletion_timestamp is not None else pod.status.phase,
            kind=kind,
            job=job,
            cpu_millis=held.cpu_millis,
            memory_bytes=held.memory_bytes,
            gpus=held.gpus,
            created=meta.creation_timestamp,
        )

    async def insist(self, caller: Caller) -> None:
        """Refuse whoever may not list nodes; without their pods nobody knows what is free."""
        if not await self.rights.may(caller, Question("list", NODES.group, NODES.plural, "")):
            raise forbidden(caller.person.name, "list", NODES.name, "")
        self.stores.insist_read(NODES, PODS)

    def free_on(self, node: ShownNode) -> Requests:
        """Return what no pod of a node has requested; more requests than the node has leave nothing, not less."""
        has, held = offer(node), self.stores.usage.of_node(node.metadata.name)
        return Requests(
            max(0, has.cpu_millis - held.cpu_millis),
            max(0, has.memory_bytes - held.memory_bytes),
            max(0, has.gpus - held.gpus),
        )


def is_open(node: ShownNode) -> bool:
    """Return whether a node takes new pods."""
    return is_ready(node) and not node.spec.unschedulable


def is_ready(node: ShownNode) -> bool:
    """Return whether a node's kubelet reports that it is ready."""
    return any(one.type == "Ready" and one.status == "True" for one in node.status.conditions)


def offer(node: ShownNode) -> Requests:
    """Return what a node offers to pods."""
    return of_amounts(node.status.allocatable)


def shares(
    total: Requests, requested: Requests | None, free: Requests | None, closed: Requests | None = NOTHING
) -> tuple[Share, Share, Share]:
    """Return CPU, memory and GPUs."""

    def share(name: str) -> Share:
        def amount(one: Requests | None) -> int | None:
            return getattr(one, name) if one is not None else None

        return Share(total=getattr(total, name), requested=amount(requested), free=amount(free), closed=amount(closed))

    return share("cpu_millis"), share("memory_bytes"), share("gpus")


def _holder(pod: ShownPod, gpus: int, view: PodView) -> Holder:
    kind, job = view.job_of(pod)
    return Holder(namespace=pod.metadata.namespace, pod=pod.metadata.name, kind=kind, job=job, gpus=gpus)


def _largest(pod: NodePod) -> tuple[int, int, int, str, str]:
    return -pod.gpus, -pod.cpu_millis, -pod.memory_bytes, pod.namespace, pod.name
