"""What the API answers about nodes: figures for those who may list nodes, names only where they may be listed too."""

from dataclasses import dataclass

from kubedl.console.cache import Stores
from kubedl.console.kinds import NODES, ShownNode
from kubedl.console.people import Caller
from kubedl.console.problems import forbidden
from kubedl.console.rights import Question, Rights
from kubedl.console.usage import NOTHING, summed
from kubedl.console.wire_nodes import Capacity, Share
from kubedl.history.resource_requests import Requests, of_amounts


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

    async def insist(self, caller: Caller) -> None:
        """Refuse whoever may not list nodes."""
        if not await self.rights.may(caller, Question("list", NODES.group, NODES.plural, "")):
            raise forbidden(caller.person.name, "list", NODES.name, "")

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
    ready = any(one.type == "Ready" and one.status == "True" for one in node.status.conditions)
    return ready and not node.spec.unschedulable


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
