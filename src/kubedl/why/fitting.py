"""Whether a job that does not exist yet would start now, later or never. Pure.

The filters of the scheduler are applied to the nodes as they are; what keeps a pod away is written as the scheduler
writes it, so that the rules about pods that no node takes explain it. Affinity, spread and preemption
are not considered.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kubedl.why.evidence import Evidence, Object, numbered, part_of, text_of
from kubedl.why.facts import replica_of, roles_of
from kubedl.why.judging import judge
from kubedl.why.nodes import Node, nodes_of
from kubedl.why.quantities import noun, requests_of, summed, written
from kubedl.why.rules import fit

Answer = Literal["yes", "wait", "no", "unknown"]
MOST_PODS = 10_000
SLOTS = "pods"  # a node takes a number of pods
COUNTED = ("master", "worker")  # roles that --workers counts
NEVER = ("fit.too-large", "fit.selector", "fit.taint")


@dataclass(frozen=True)
class Fit:
    """The answer: it starts now, waits, never starts, or cannot be told."""

    answer: Answer
    first: str
    rule: str = ""
    supporting: Sequence[tuple[str, str]] = ()
    next: str = ""
    nodes: Sequence[str] = ()
    denied: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Placement:
    """Pods with the node that each would get, and those that no node takes with the scheduler's words."""

    pods: list[dict[str, Any]]
    is_complete: bool

    @property
    def nodes(self) -> list[str]:
        """Return the nodes that were chosen."""
        return sorted({name for pod in self.pods if (name := text_of(pod, "spec", "nodeName"))})


def pods_of(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the pods that a job would have, the largest first."""
    found = []
    for role, value in roles_of(evidence).items():
        count = value.get("replicas", 1) if isinstance(value, Mapping) else 1
        spec = part_of(value, "template", "spec")
        for index in range(min(count if isinstance(count, int) else 1, MOST_PODS)):
            labels = {
                "training.kubedl.io/replica-type": role.lower(),
                "training.kubedl.io/replica-index": str(index),
            }
            name = f"{evidence.name}-{role.lower()}-{index}"
            metadata = {"name": name, "namespace": evidence.namespace, "labels": labels}
            found.append({"metadata": metadata, "spec": dict(spec), "status": {}})
    return sorted(found, key=_size)


def _size(pod: Object) -> list[float]:
    wanted = requests_of(pod)
    devices = sum(value for name, value in wanted.items() if "/" in name)
    return [-devices, -wanted.get("cpu", 0.0), -wanted.get("memory", 0.0)]


def fits(evidence: Evidence) -> Fit:
    """Return whether nodes have room for all pods of a job; `nodes` and `node_pods` are the parts that it reads."""
    nodes = nodes_of(evidence)
    if not nodes:
        return Fit("unknown", "nodes cannot be read, so fit is not checked", denied=_refused(evidence))
    empty = place(evidence, nodes, {})
    if not empty.is_complete:
        return _never(evidence, empty)
    used = evidence.get("node_pods")
    if not isinstance(used, Mapping):
        return Fit("unknown", "an empty cluster has room; what others use cannot be read", denied=_refused(evidence))
    now = place(evidence, nodes, used)
    if now.is_complete:
        where = now.nodes
        shown = ", ".join(where[:8]) + (f" and {len(where) - 8} more" if len(where) > 8 else "")
        verb = "fits" if len(now.pods) == 1 else "fit"
        return Fit("yes", f"{numbered(len(now.pods), 'pod')} {verb} now, on {shown}", nodes=where)
    return _judged(evidence, now, used, "wait")


def _refused(evidence: Evidence) -> dict[str, str]:
    """Return what may not be read; what is not there is no loss."""
    return {part: said for part, said in evidence.denied.items() if said != "not there"}


def place(evidence: Evidence, nodes: Sequence[Node], used: Mapping[str, Any]) -> Placement:
    """Give each pod a node, the fullest that takes it; `used` are the pods that nodes have."""
    free = {node.name: dict(node.allocatable) for node in nodes}
    for name, pods in used.items():
        for pod in pods or ():
            _take(free.get(name, {}), pod)
    placed, complete = [], True
    for pod in pods_of(evidence):
        wanted = {**requests_of(pod), SLOTS: 1.0}
        open_to = [node for node in nodes if not any(_reasons(node, pod, wanted, free[node.name]))]
        if open_to:
            main = next((name for name in wanted if "/" in name), "cpu")
            chosen = min(open_to, key=lambda node: (free[node.name].get(main, 0.0), node.name))
            _take(free[chosen.name], pod)
            pod["spec"]["nodeName"] = chosen.name
        else:
            complete = False
            said = _message(nodes, pod, wanted, free)
            pod["status"] = {
                "phase": "Pending",
                "conditions": [{"type": "PodScheduled", "status": "False", "message": said}],
            }
        placed.append(pod)
    return Placement(placed, complete)


def _take(free: dict[str, float], pod: Object) -> None:
    for name, value in {**requests_of(pod), SLOTS: 1.0}.items():
        if name in free:
            free[name] -= value


def _reasons(node: Node, pod: Object, wanted: Mapping[str, float], free: Mapping[str, float]) -> Iterator[str]:
    """Yield why a node does not take a pod: the first filter of the scheduler that refuses, or all that is short."""
    if node.is_cordoned:
        yield "node(s) were unschedulable"
    elif not node.is_ready:
        yield "node(s) had untolerated taint {node.kubernetes.io/not-ready: }"
    elif away := node.keeps_away(pod):
        yield f"node(s) had untolerated taint {{{text_of(away[0], 'key')}: {text_of(away[0], 'value')}}}"
    elif not node.has(part_of(pod, "spec", "nodeSelector")):
        yield f"node(s) {fit.SELECTOR}"
    else:
        for name, value in wanted.items():
            if name != SLOTS and value > free.get(name, 0.0):
                yield f"{fit.INSUFFICIENT}{name}"
        if free.get(SLOTS, 1.0) < 1:
            yield "Too many pods"


def _message(
    nodes: Sequence[Node], pod: Object, wanted: Mapping[str, float], free: Mapping[str, Mapping[str, float]]
) -> str:
    """Return what the scheduler would say."""
    counts: dict[str, int] = {}
    for node in nodes:
        for reason in _reasons(node, pod, wanted, free[node.name]):
            counts[reason] = counts.get(reason, 0) + 1
    told = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
    return f"0/{len(nodes)} nodes are available: {told}."


def _never(evidence: Evidence, empty: Placement) -> Fit:
    """Return why not even an empty cluster has room."""
    waiting = [pod for pod in empty.pods if not text_of(pod, "spec", "nodeName")]
    found = _judged(evidence, empty, {}, "no")
    short = len(waiting) < len(empty.pods) and found.rule not in (*NEVER, "fit.cordoned")
    if not short:
        return found if found.rule != "fit.cordoned" else Fit("wait", found.first, found.rule, found.supporting)
    total = summed(map(requests_of, empty.pods))
    main = next((name for name in total if "/" in name), "cpu")
    wants = f"{written(total.get(main, 0.0), main)} {noun(main, total.get(main, 0.0))}"
    room = f"all nodes together have room for {len(empty.pods) - len(waiting)} of them"
    return Fit("no", f"Can never fit: {len(empty.pods)} pods want {wants}, and {room}.", "fit.too-large")


def _judged(evidence: Evidence, placed: Placement, used: Mapping[str, Any], answer: Answer) -> Fit:
    """Return what the rules say about a placement that is not complete."""
    held = {name: list(pods or ()) for name, pods in used.items()}
    for pod in placed.pods:
        if node := text_of(pod, "spec", "nodeName"):
            held.setdefault(node, []).append(
                {"name": text_of(pod, "metadata", "name"), "namespace": evidence.namespace, "spec": pod["spec"]}
            )
    waiting = [pod for pod in placed.pods if not text_of(pod, "spec", "nodeName")]
    parts = {**evidence.parts, "pods": waiting, "node_pods": held, "events": []}
    assumed = Evidence(evidence.now, evidence.manifest, evidence.source, parts, evidence.denied)
    cause = judge(assumed, fit.RULES)
    certain: Answer = "no" if cause.rule in NEVER else answer
    return Fit(certain, cause.first, cause.rule, cause.supporting, _smaller(assumed, cause.rule))


def _smaller(evidence: Evidence, rule: str) -> str:
    """Return flags of `submit` that ask for the same GPUs in smaller pods; empty if there are none."""
    found = fit.too_large(evidence)
    if rule != "fit.too-large" or found is None or not found.values["field"].endswith("/gpu"):
        return ""
    asked, most = float(found.values["asked"]), float(found.values["most"])
    wanted = [(pod, requests_of(pod).get(found.values["field"], 0.0)) for pod in pods_of(evidence)]
    those = [(replica_of(pod).partition(" ")[0], amount) for pod, amount in wanted if amount]
    if not most or asked % most or any(role not in COUNTED or amount != asked for role, amount in those):
        return ""
    return f"--gpus {most:.0f} --workers {len(those) * asked / most:.0f}"
