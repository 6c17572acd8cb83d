"""Nodes as far as rules read them: labels, taints, what they have, and who holds it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubedl.why.evidence import Evidence, Object, items_of, part_of, text_of
from kubedl.why.quantities import number, requests_of, written

MOST_HOLDERS = 5
# Taints of Kubernetes itself on nodes that are cordoned or not ready.
OUT_OF_ORDER = ("node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


@dataclass(frozen=True)
class Node:
    """A node."""

    name: str
    labels: Mapping[str, Any]
    taints: Sequence[Object]
    allocatable: Mapping[str, float]
    is_cordoned: bool
    is_ready: bool

    @property
    def is_open(self) -> bool:
        """Return whether it takes new pods at all."""
        return self.is_ready and not self.is_cordoned

    def keeps_away(self, pod: Object) -> list[Object]:
        """Return the taints that a pod does not tolerate, without those of nodes that are out of order."""
        tolerations = items_of(pod, "spec", "tolerations")
        return [
            taint
            for taint in self.taints
            if taint.get("effect") != "PreferNoSchedule"
            and taint.get("key") not in OUT_OF_ORDER
            and not any(_tolerates(one, taint) for one in tolerations)
        ]

    def has(self, labels: Mapping[str, Any]) -> bool:
        """Return whether it has all these labels."""
        return all(self.labels.get(key) == value for key, value in labels.items())


def candidates(evidence: Evidence, pod: Object) -> list[Node]:
    """Return the nodes that have the labels that a pod asks for."""
    return [node for node in nodes_of(evidence) if node.has(part_of(pod, "spec", "nodeSelector"))]


def _tolerates(toleration: Object, taint: Object) -> bool:
    key, value = text_of(toleration, "key"), text_of(toleration, "value")
    if text_of(toleration, "effect") not in ("", text_of(taint, "effect")):
        return False
    if text_of(toleration, "operator") == "Exists":
        return key in ("", text_of(taint, "key"))
    return key == text_of(taint, "key") and value == text_of(taint, "value")


def nodes_of(evidence: Evidence) -> list[Node]:
    """Return the nodes; none if they may not be read."""
    return [
        Node(
            name=text_of(one, "name"),
            labels=part_of(one, "labels"),
            taints=items_of(one, "taints"),
            allocatable={name: number(value) for name, value in part_of(one, "allocatable").items()},
            is_cordoned=one.get("unschedulable") is True,
            is_ready=one.get("ready") == "True",
        )
        for one in evidence.listed("nodes")
    ]


def free_on(evidence: Evidence, nodes: Sequence[Node], resource: str) -> dict[str, float]:
    """Return what is free of a resource, on the nodes whose pods are known."""
    pods = evidence.get("node_pods")
    if not isinstance(pods, Mapping):
        return {}
    free = {}
    for node in nodes:
        if node.name in pods and resource in node.allocatable:
            used = sum(requests_of(pod).get(resource, 0.0) for pod in items_of(pods, node.name))
            free[node.name] = max(0.0, node.allocatable[resource] - used)
    return free


def holders_on(evidence: Evidence, resource: str) -> str:
    """Return who holds a resource on the nodes whose pods are known: clip-ft 32, nb-carol 2."""
    pods = evidence.get("node_pods")
    held: dict[str, float] = {}
    for node in pods if isinstance(pods, Mapping) else ():
        for pod in items_of(pods, node):
            amount = requests_of(pod).get(resource, 0.0)
            owner = text_of(pod, "owner") or text_of(pod, "name")
            place = text_of(pod, "namespace")
            who = owner if place == evidence.namespace else f"{place}/{owner}"
            if amount:
                held[who] = held.get(who, 0.0) + amount
    largest = sorted(held, key=lambda who: (-held[who], who))
    more = len(largest) - MOST_HOLDERS
    text = ", ".join(f"{who} {written(held[who], resource)}" for who in largest[:MOST_HOLDERS])
    return text + (f" and {more} more" if more > 0 else "")
