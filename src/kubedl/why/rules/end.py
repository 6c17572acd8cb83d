"""Pods that were taken away with their node or from it, and how jobs end."""

from collections.abc import Callable

from kubedl.why.evidence import Evidence, items_of, part_of, precise, text_of
from kubedl.why.failures import OUT_OF_MEMORY, Death, first_death
from kubedl.why.rule import Gate, Match, Rule, Try

SPOT_WORDS = ("spot", "preemptible")
LOST = ("NodeLost", "DeletionByPodGC")  # by the operator, and by Kubernetes when the node is no more


def node_lost(evidence: Evidence) -> Match | None:
    ready, death = evidence.condition("PodsReady"), first_death(evidence)
    if ready.get("reason") == "NodeLost" and ready.get("status") == "False":
        said = text_of(ready, "message")
        node = said.partition("node ")[2].partition(" ")[0]
        ago = evidence.ago(ready.get("lastTransitionTime"))
        return Match({"text": f"Node {node or 'of a pod'} does not answer{f' for {ago}' if ago else ''}", "says": said})
    if death is not None and death.reason in LOST:
        ago = evidence.ago(death.time)
        text = f"{death.replica} was lost with node {death.node}{f' {ago} ago' if ago else ''}"
        return Match(
            {"text": text[:1].upper() + text[1:], "says": text_of(evidence.condition("Restarting"), "message")}
        )
    return None


def _disrupted(*reasons: str) -> Callable[[Evidence], Match | None]:
    def when(evidence: Evidence) -> Match | None:
        death = first_death(evidence)
        if death is None or death.reason not in reasons or _is_spot(evidence, death):
            return None
        return Match(death.values(evidence) | {"says": death.message})

    return when


def _is_spot(evidence: Evidence, death: Death) -> bool:
    if not death.is_disruption or not death.node:
        return False
    if any(word in death.message.lower() for word in SPOT_WORDS):
        return True
    node = next((one for one in evidence.listed("nodes") if one.get("name") == death.node), {})
    labels = [f"{key}={value}".lower() for key, value in part_of(node, "labels").items()]
    labels += [text_of(one, "key").lower() for one in items_of(node, "taints")]
    marked = [one for one in labels if any(word in one for word in SPOT_WORDS)]
    return any(not one.endswith(("=false", "=on-demand")) for one in marked)


def spot(evidence: Evidence) -> Match | None:
    death = first_death(evidence)
    if death is None or not _is_spot(evidence, death):
        return None
    return Match(death.values(evidence) | {"says": death.message})


def deleted(evidence: Evidence) -> Match | None:
    death = first_death(evidence)
    return Match(death.values(evidence)) if death is not None and death.reason == "Deleted" else None


def pause(evidence: Evidence) -> Match | None:
    restarting = evidence.condition("Restarting")
    if evidence.state != "Restarting" or restarting.get("status") != "True":
        return None
    return Match({"says": text_of(restarting, "message")})


def reported(evidence: Evidence) -> Match | None:
    """What the operator says that it waits for, if no rule knows it better."""
    ready = evidence.condition("PodsReady")
    said = text_of(ready, "message")
    if ready.get("status") != "False" or not said:
        return None
    ago = evidence.ago(ready.get("lastTransitionTime"))
    return Match({"reason": text_of(ready, "reason"), "says": said, "ago": ago})


def deadline(evidence: Evidence) -> Match | None:
    failed = evidence.condition("Failed")
    if failed.get("reason") != "DeadlineExceeded" or failed.get("status") != "True":
        return None
    seconds = evidence.status.get("activeDeadlineSeconds") or evidence.spec.get("activeDeadlineSeconds")
    allowed = precise(seconds) if isinstance(seconds, int) else "its time"
    ready = text_of(failed, "message").partition("; ")[2]
    return Match({"allowed": allowed, "ready": ready})


def retries(evidence: Evidence) -> Match | None:
    failed, death = evidence.condition("Failed"), first_death(evidence)
    if failed.get("reason") != "BackoffLimitExceeded" or failed.get("status") != "True":
        return None
    times = int(text_of(evidence.status, "retries") or 0) or int(text_of(evidence.status, "restarts") or 0)
    said = text_of(failed, "message").partition("reached: ")[2] or text_of(failed, "message")
    values = death.values(evidence) if death is not None else {}
    if death is not None and death.reason == OUT_OF_MEMORY:
        said = f"{death.replica} ran out of memory{values['in_limit_']}"
    elif death is not None and death.exit_code:
        last = f": {death.last_line}" if death.last_line else ""
        said = f"{death.replica} failed with exit code {death.exit_code}{last}"
    limit = text_of(evidence.spec, "backoffLimit")
    count = f"{times} times, the last time" if times > 1 else "and may not be tried again,"
    return Match(values | {"times": count, "cause": said, "limit": limit})


def gone(evidence: Evidence) -> Match | None:
    """A job that was deleted. Why it had failed is what other rules say, from what was recorded."""
    past = evidence.past
    if not past:
        return None
    ago, state, said = evidence.ago(past.get("deleted")), text_of(past, "state"), text_of(evidence.status, "message")
    how = {"Succeeded": "succeeded", "Failed": "failed"}.get(state, "not ended")
    receipt = part_of(past, "receipt")
    ran, used = receipt.get("runningSeconds"), receipt.get("gpuSeconds")
    return Match(
        {
            "ago_": f" {ago} ago" if ago else "",
            "by_": " because its ttlSecondsAfterFinished had passed" if past.get("byTtl") is True else "",
            "state": how,
            "says": said or text_of(past, "reason"),
            "ran": precise(ran) if isinstance(ran, int) else "",
            "gpus_": f", {used / 3600:.1f} GPU hours" if isinstance(used, int) and used else "",
            "user": text_of(past, "user"),
        }
    )


_LOGS = Try("kubedl logs {name} -i {index}", "what it printed")
_WHERE = ("where", "{pod} on {where}")
RULES = (
    Rule(
        "node.lost",
        Gate.NODE,
        node_lost,
        "{text}.",
        shows=(("says", "{says}"),),
        tries=(Try("kubectl get nodes", "which nodes are not ready"),),
        over=None,
        explains=("end.pause",),
    ),
    Rule(
        "node.spot",
        Gate.NODE,
        spot,
        "Spot node {node} was reclaimed; {replica} restarts, which is not counted.",
        shows=(("says", "{says}"),),
        over=None,
        explains=("node.lost", "node.drained", "node.deleted", "end.pause"),
    ),
    Rule(
        "node.preempted",
        Gate.NODE,
        _disrupted("PreemptionByScheduler", "Preempting"),
        "{replica} had to make room for a pod of higher priority{ago_}.",
        shows=(("says", "{says}"), ("where", "{where}")),
        over=None,
        explains=("end.pause",),
    ),
    Rule(
        "node.drained",
        Gate.NODE,
        _disrupted("EvictionByEvictionAPI", "DeletionByTaintManager", "TerminationByKubelet"),
        "{replica} was evicted from {node}, which is being drained or is out of resources{ago_}.",
        shows=(("says", "{says}"),),
        tries=(Try("kubectl describe node {node}", "who drains it, and why", by="admin"),),
        over=None,
        explains=("end.pause",),
    ),
    Rule(
        "node.deleted",
        Gate.NODE,
        deleted,
        "{replica} was deleted{ago_}; it is made again, which is not counted.",
        shows=(_WHERE,),
        over=None,
        explains=("end.pause",),
    ),
    Rule(
        "end.gone",
        Gate.END,
        gone,
        "It was deleted{ago_}{by_}; it had {state}.",
        shows=(("said", "{says}"), ("used", "ran {ran}{gpus_}"), ("user", "{user}")),
        tries=(
            Try("kubedl history get {name}", "its pods and events"),
            Try("kubedl history logs {name}", "what it printed, if logs are archived"),
        ),
        over=None,
        yields=True,
        besides=True,
    ),
    Rule(
        "end.reported",
        Gate.END,
        reported,
        "It waits: {says}.",
        shows=(("reason", "{reason}"), ("for", "{ago}")),
        tries=(Try("kubedl get {name} -e", "what happened to it and its pods"),),
        yields=True,
    ),
    Rule("end.pause", Gate.END, pause, "It starts again soon: {says}.", yields=True, explains=("end.reported",)),
    Rule(
        "end.deadline",
        Gate.END,
        deadline,
        "It ran out of time: {allowed} were allowed (activeDeadlineSeconds).",
        shows=(("then", "{ready}"),),
        tries=(
            Try("kubedl get {name} -o yaml > {name}.yaml", "allow more there, kubedl delete {name}, kubectl apply"),
        ),
        over=True,
        explains=("run.", "node.", "meet."),
    ),
    Rule(
        "end.retries",
        Gate.END,
        retries,
        "It failed {times} because {cause}.",
        shows=(("limit", "backoffLimit is {limit}"), ("where", "{pod} on {where}"), ("others", "{others}")),
        tries=(_LOGS,),
        over=True,
        explains=("run.exit", "run.signal", "run.oom", "node."),
    ),
)
