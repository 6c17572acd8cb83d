"""Pods that no node takes: order of roles, gangs, room, selectors, taints, from the words of the scheduler."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kubedl.training import scheduler_message
from kubedl.why import message_patterns as patterns
from kubedl.why.evidence import Evidence, Object, numbered, part_of, text_of
from kubedl.why.facts import events_with, name_of, unscheduled
from kubedl.why.nodes import OUT_OF_ORDER, candidates, free_on, holders_on, nodes_of
from kubedl.why.quantities import noun, requests_of, written
from kubedl.why.rule import Gate, Match, Rule, Sure, Try

INSUFFICIENT = "Insufficient "
ORDINARY = ("cpu", "memory", "ephemeral-storage")
SELECTOR = "didn't match Pod's node affinity/selector"
# Kubernetes up to 1.35, and from 1.36 on
ELSEWHERE = ("volume node affinity conflict", "didn't match PersistentVolume's node affinity")
VOLUME_WORDS = (
    *ELSEWHERE,
    "unbound immediate",
    "persistentvolumeclaim",
    "available persistent volumes",
)
SPREAD_WORDS = ("anti-affinity", "topology spread")
SLOT_WORDS = ("free ports", "Too many pods")
MOST_NAMED = 4


@dataclass(frozen=True)
class Unplaced:
    """The first pod that no node takes, and the scheduler's reasons."""

    pod: Object
    message: str
    pods: int
    reasons: Mapping[str, int]  # words → nodes

    def counted(self, *parts: str) -> int:
        """Return how many nodes have a reason with one of these words."""
        return sum(count for text, count in self.reasons.items() if any(part in text for part in parts))

    @property
    def short_of(self) -> list[str]:
        """Return the resources that nodes lack."""
        return [text.removeprefix(INSUFFICIENT) for text in self.reasons if text.startswith(INSUFFICIENT)]

    @property
    def is_mixed(self) -> bool:
        """Return whether nodes have reasons of several kinds: without the nodes it is open which one counts."""
        return len(self.reasons) > 1

    @property
    def is_about_volumes(self) -> bool:
        """Return whether a volume is the matter."""
        return any(word in self.message for word in VOLUME_WORDS)


def unplaced(evidence: Evidence) -> Unplaced | None:
    """Return the pod that most nodes could take: those without room say more than those that never fit."""
    waiting = unscheduled(evidence)
    if not waiting:
        return None
    pod, message = waiting[0]
    read = scheduler_message.read(message)
    reasons: dict[str, int] = {}
    for one in read.reasons if read is not None else ():
        reasons[one.words] = reasons.get(one.words, 0) + (int(one.count) if one.count else 0)
    return Unplaced(pod, message, len(waiting), reasons)


def order_waits(evidence: Evidence) -> Match | None:
    said = text_of(evidence.condition("PodsReady"), "message")
    return Match(found) if (found := patterns.search(patterns.WAITS_FOR, said)) is not None else None


def gang_partly(evidence: Evidence) -> Match | None:
    said = text_of(evidence.condition("PodsReady"), "message")
    found = patterns.search(patterns.GANG_PLACED, said)
    if found is None or not found["placed"].strip("0"):
        return None  # if none is placed, what they lack says more
    lacking = unplaced(evidence)
    return Match(found | {"lacks": scheduler_message.trim(lacking.message) if lacking is not None else ""})


def gang_no_scheduler(evidence: Evidence) -> Match | None:
    ready = evidence.condition("PodsReady")
    if ready.get("reason") not in ("NotScheduled", "GangSchedulerNotFound"):
        return None
    used = sorted({text_of(pod, "spec", "schedulerName") for pod in evidence.pods} - {"", "default-scheduler"})
    asked = text_of(evidence.spec, "schedulingPolicy", "gangScheduler")
    name = ", ".join(used) or asked or "default-scheduler"
    return Match({"scheduler": name, "says": text_of(ready, "message")}, len(evidence.pods))


def _shortage(evidence: Evidence, lacking: Unplaced, resource: str) -> dict[str, str]:
    asked = requests_of(lacking.pod).get(resource, 0.0)
    values = {
        "asked": written(asked, resource),
        "resource": noun(resource, asked),
        "largest_": "",
        "field": resource,
        "scheduler": scheduler_message.trim(lacking.message),
        "waiting": numbered(lacking.pods, "pod"),
    }
    nodes = [node for node in nodes_of(evidence) if node.is_open]  # nobody can have what the others have left
    free = free_on(evidence, nodes, resource) if nodes else None
    if free:
        best = max(free, key=lambda name: free[name])
        values["largest_"] = f": the largest free block is {written(free[best], resource)} (on {best})"
        values |= {"holders": holders_on(evidence, resource)}
    return values


def gpu_shortage(evidence: Evidence) -> Match | None:
    lacking = unplaced(evidence)
    wanted = [one for one in lacking.short_of if one not in ORDINARY] if lacking is not None else []
    if lacking is None or not wanted:
        return None
    return Match(_shortage(evidence, lacking, wanted[0]), lacking.pods)


def cpu_memory(evidence: Evidence) -> Match | None:
    lacking = unplaced(evidence)
    wanted = [one for one in lacking.short_of if one in ORDINARY] if lacking is not None else []
    if lacking is None or not wanted or len(wanted) < len(lacking.short_of):
        return None
    return Match(_shortage(evidence, lacking, wanted[0]), lacking.pods)


def too_large(evidence: Evidence) -> Match | None:
    """No node has as much, even if it were empty."""
    lacking = unplaced(evidence)
    if lacking is None or not lacking.short_of or not (nodes := nodes_of(evidence)):
        return None
    for resource in lacking.short_of:
        asked = requests_of(lacking.pod).get(resource, 0.0)
        largest = max(nodes, key=lambda node: node.allocatable.get(resource, 0.0))
        most = largest.allocatable.get(resource, 0.0)
        if asked > most > 0:
            values = {"asked": written(asked, resource), "most": written(most, resource), "largest": largest.name}
            return Match(values | {"resource": noun(resource, asked), "field": resource}, lacking.pods)
    return None


def selector(evidence: Evidence) -> Match | None:
    """No node has the labels."""
    lacking = unplaced(evidence)
    if lacking is None or lacking.short_of or lacking.is_about_volumes or not lacking.counted(SELECTOR):
        return None
    nodes, wanted = nodes_of(evidence), part_of(lacking.pod, "spec", "nodeSelector")
    if candidates(evidence, lacking.pod) if nodes else lacking.is_mixed:
        return None  # a node has them, and something else keeps the pod away
    missing = next((key for key, value in wanted.items() if not any(node.has({key: value}) for node in nodes)), "")
    key = missing or next(iter(wanted), "")
    label = f"the label {key}={wanted[key]}" if key else "what its node affinity asks for"
    values = sorted({str(node.labels[key]) for node in nodes if key in node.labels}) if key else []
    return Match({"label": label, "known": ", ".join(values[:MOST_NAMED]), "key": key}, lacking.pods)


def taint(evidence: Evidence) -> Match | None:
    """Nodes would fit, and are tainted; none is open."""
    lacking = unplaced(evidence)
    if lacking is None or lacking.short_of or lacking.is_about_volumes or not lacking.counted("untolerated taint"):
        return None
    fitting = candidates(evidence, lacking.pod)
    away = {node.name: node.keeps_away(lacking.pod) for node in fitting if node.is_open}
    if nodes_of(evidence):
        if not away or not all(away.values()):
            return None
        first = next(iter(away.values()))[0]
        key, value, effect = (text_of(first, name) for name in ("key", "value", "effect"))
        count = len(away)
    else:
        texts = [
            (count, found)
            for text, count in lacking.reasons.items()
            if (found := patterns.search(patterns.TAINT, text))
        ]
        if lacking.is_mixed or not texts or texts[0][1]["key"] in OUT_OF_ORDER:
            return None
        count, key, value, effect = texts[0][0], texts[0][1]["key"], texts[0][1]["value"], ""
    text = f"{key}={value}".removesuffix("=")
    return Match(
        {
            "nodes": numbered(count, "node"),
            "taint": f"{text}:{effect}".removesuffix(":"),
            "where": _named(away),
            "toleration": f'{{"key":"{key}","operator":"Exists"}}',
        },
        lacking.pods,
    )


def cordoned(evidence: Evidence) -> Match | None:
    """Nodes would fit, and all of them are cordoned, not ready or tainted."""
    lacking = unplaced(evidence)
    if lacking is None or lacking.short_of or lacking.is_about_volumes:
        return None
    if not lacking.counted("were unschedulable", *OUT_OF_ORDER):
        return None
    fitting = candidates(evidence, lacking.pod)
    out = [node for node in fitting if not node.is_open and not node.keeps_away(lacking.pod)]
    if nodes_of(evidence):
        if not out or any(node.is_open for node in fitting):
            return None
        count = len(out)
    elif lacking.is_mixed:
        return None
    else:
        count = lacking.counted("were unschedulable", *OUT_OF_ORDER)
    first = next((node.name for node in out if node.is_cordoned), "")
    states = [f"{node.name} {'cordoned' if node.is_cordoned else 'not ready'}" for node in out[:MOST_NAMED]]
    verb = "is" if count == 1 else "are"
    return Match(
        {"nodes": f"{numbered(count, 'node')} that would fit {verb}", "which": ", ".join(states), "first": first},
        lacking.pods,
    )


def spread(evidence: Evidence) -> Match | None:
    lacking = unplaced(evidence)
    count = lacking.counted(*SPREAD_WORDS) if lacking is not None and not lacking.short_of else 0
    if lacking is None or not count:
        return None
    return Match({"nodes": numbered(count, "node"), "scheduler": scheduler_message.trim(lacking.message)}, lacking.pods)


def ports_pods(evidence: Evidence) -> Match | None:
    lacking = unplaced(evidence)
    count = lacking.counted(*SLOT_WORDS) if lacking is not None and not lacking.short_of else 0
    if lacking is None or not count:
        return None
    what = "Pod slots" if lacking.counted("Too many pods") else "Node ports"
    return Match({"what": what, "nodes": numbered(count, "node")}, lacking.pods)


def scaling_up(evidence: Evidence) -> Match | None:
    """The autoscaler speaks about a pod that still waits."""
    waiting = {name_of(pod) for pod, _ in unscheduled(evidence)}
    said = events_with(evidence, "TriggeredScaleUp", "NotTriggerScaleUp")
    said = [one for one in said if text_of(one, "involvedObject", "name") in waiting]
    if not said:
        return None
    last = said[-1]
    ago = evidence.ago(last.get("lastTimestamp") or last.get("eventTime"))
    adds = last.get("reason") == "TriggeredScaleUp"
    text = f"A node is being added{f' since {ago}' if ago else ''}" if adds else "The autoscaler adds no node"
    return Match({"text": text, "says": text_of(last, "message")}, len(waiting))


def unknown(evidence: Evidence) -> Match | None:
    """The scheduler says something else."""
    lacking = unplaced(evidence)
    if lacking is None or lacking.is_about_volumes or not lacking.message:
        return None
    return Match(
        {"says": scheduler_message.trim(lacking.message), "waiting": numbered(lacking.pods, "pod")}, lacking.pods
    )


def _named(names: Iterable[str]) -> str:
    found = sorted(names)
    more = len(found) - MOST_NAMED
    return ", ".join(found[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


_SMALLER = Try(
    "kubedl get {name} -o yaml > {name}.yaml", "ask for less {field} there, kubedl delete {name}, kubectl apply"
)
_NODES = Try("kubectl get nodes --show-labels", "which labels nodes have")
RULES = (
    Rule(
        "order.waits",
        Gate.ORDER,
        order_waits,
        "{role} waits for {other} to be {phase} ({so_far} so far).",
        tries=(Try("kubedl logs {name}", "what the others print"),),
        yields=True,
    ),
    Rule(
        "gang.partly",
        Gate.GANG,
        gang_partly,
        "All {wanted} pods of the gang must fit at once, and {placed} do.",
        shows=(("scheduler", "{scheduler}"), ("lacks", "{lacks}")),
        explains=("fit.",),
    ),
    Rule(
        "gang.no-scheduler",
        Gate.GANG,
        gang_no_scheduler,
        "No scheduler named {scheduler} looks at these pods.",
        shows=(("says", "{says}"),),
        tries=(Try("kubectl get pods -A -l component=kube-scheduler", "which schedulers run", by="admin"),),
    ),
    Rule(
        "fit.too-large",
        Gate.FIT,
        too_large,
        "Can never fit: {asked} {resource} on one node, the largest has {most}.",
        shows=(("largest", "{largest}"),),
        tries=(_SMALLER,),
        explains=("fit.",),
    ),
    Rule(
        "fit.scaling-up",
        Gate.FIT,
        scaling_up,
        "{text}: {says}.",
        explains=("fit.gpu-shortage", "fit.cpu-memory"),
    ),
    Rule(
        "fit.gpu-shortage",
        Gate.FIT,
        gpu_shortage,
        "No node has {asked} {resource} free{largest_}.",
        shows=(("waiting", "{waiting}"), ("in use by", "{holders}"), ("scheduler", "{scheduler}")),
        tries=(_SMALLER,),
    ),
    Rule(
        "fit.cpu-memory",
        Gate.FIT,
        cpu_memory,
        "No node has {asked} {resource} free{largest_}.",
        shows=(("waiting", "{waiting}"), ("in use by", "{holders}"), ("scheduler", "{scheduler}")),
        tries=(_SMALLER,),
    ),
    Rule(
        "fit.selector",
        Gate.FIT,
        selector,
        "No node has {label}.",
        shows=(("nodes have", "{key} = {known}"),),
        tries=(_NODES,),
    ),
    Rule(
        "fit.taint",
        Gate.FIT,
        taint,
        "{nodes} would do, but {taint} keeps the pods away.",
        shows=(("where", "{where}"), ("toleration", "{toleration}")),
        tries=(
            Try("kubedl get {name} -o yaml > {name}.yaml", "add the toleration, kubedl delete {name}, kubectl apply"),
        ),
    ),
    Rule(
        "fit.cordoned",
        Gate.FIT,
        cordoned,
        "{nodes} cordoned or not ready.",
        shows=(("which", "{which}"),),
        tries=(Try("kubectl uncordon {first}", "lets pods on it again", by="admin"),),
    ),
    Rule(
        "fit.spread",
        Gate.FIT,
        spread,
        "The job's own rule keeps its pods apart: {nodes} are left out by it.",
        shows=(("scheduler", "{scheduler}"),),
    ),
    Rule("fit.ports-pods", Gate.FIT, ports_pods, "{what} are used up on {nodes}."),
    Rule(
        "fit.other",
        Gate.FIT,
        unknown,
        "No node takes {waiting}: {says}.",
        sure=Sure.LIKELY,
        yields=True,
    ),
)
