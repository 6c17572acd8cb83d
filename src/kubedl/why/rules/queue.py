"""Waiting in a queue of Kueue: from the Workload, the queue, and what the operator wrote about the place in it."""

from collections.abc import Iterable

from kubedl.why import message_patterns as patterns
from kubedl.why.evidence import Evidence, Object, condition_of, items_of, ordinal, part_of, text_of
from kubedl.why.quantities import noun, number, summed, written
from kubedl.why.rule import Gate, Match, Rule, Sure, Try

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
MOST_NAMED = 8


def queue_of(evidence: Evidence) -> str:
    """Return the queue that the job names or waits in."""
    labels = part_of(evidence.metadata, "labels")
    return (
        text_of(labels, QUEUE_LABEL)
        or text_of(evidence.status, "queueName")
        or text_of(evidence.spec, "schedulingPolicy", "queue")
    )


def _waits(evidence: Evidence) -> bool:
    return bool(queue_of(evidence)) and evidence.state == "Queuing"


def _workload(evidence: Evidence) -> Object:
    found = evidence.get("workload")
    return found if isinstance(found, dict) else {}


def _said(evidence: Evidence) -> tuple[str, str]:
    """Return reason and words of Kueue; without the Workload, those that the operator passed on."""
    reserved = condition_of(_workload(evidence).get("status"), "QuotaReserved")
    if reserved and reserved.get("status") != "True":
        return text_of(reserved, "reason"), text_of(reserved, "message")
    own = evidence.condition("PodsReady")
    return text_of(own, "reason"), text_of(own, "message")


def _values(evidence: Evidence) -> dict[str, str]:
    """Return what every rule about a queue may say."""
    own = text_of(evidence.condition("PodsReady"), "message")
    place = patterns.search(patterns.POSITION, own) or {}
    position = int(place["position"][:9]) if place.get("position", "").isdecimal() else 0
    holders = (patterns.search(patterns.HELD_BY, own) or {}).get("holders", "")
    waited = evidence.ago(evidence.condition("Suspended").get("lastTransitionTime"))
    return {
        "queue": queue_of(evidence),
        "waited_": f" {waited}" if waited else "",
        "line_": f"; {ordinal(position)} in line" if position else "",
        "before": f"{position - 1} other jobs" if position > 1 else "",
        "holders": holders,
        "says": _said(evidence)[1],
    }


def _names(objects: Iterable[Object]) -> str:
    found = sorted(text_of(one, "metadata", "name") for one in objects)
    more = len(found) - MOST_NAMED
    return ", ".join(found[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def missing(evidence: Evidence) -> Match | None:
    found = patterns.search(patterns.QUEUE_MISSING, _said(evidence)[1]) if _waits(evidence) else None
    if found is None:
        return None
    there = evidence.get("localqueues")
    known = _names(there) if isinstance(there, list) else ""
    one = text_of(there[0], "metadata", "name") if isinstance(there, list) and there else ""
    return Match(_values(evidence) | {"queue": found["queue"], "known": known or "none", "other": one})


def none(evidence: Evidence) -> Match | None:
    """Kueue is not there."""
    reason = text_of(evidence.condition("PodsReady"), "reason")
    return Match(_values(evidence)) if _waits(evidence) and reason == "KueueNotAvailable" else None


def stopped(evidence: Evidence) -> Match | None:
    """The queue is on hold, or something that it needs is missing: Kueue says of both that it is inactive."""
    found = patterns.search(patterns.QUEUE_STOPPED, _said(evidence)[1]) if _waits(evidence) else None
    if found is None:
        return None
    values = _values(evidence) | found | {"how": "stopped"}
    shared = evidence.get("clusterqueue") if found["what"] == "ClusterQueue" else None
    if part_of(shared, "spec") and text_of(shared, "spec", "stopPolicy") in ("", "None"):
        said = text_of(condition_of(part_of(shared, "status"), "Active"), "message")
        values |= {"how": "not active", "what": "", "says": said or values["says"]}
    return Match(values)


def quota(evidence: Evidence) -> Match | None:
    """The job waits for quota that others use."""
    reason, said = _said(evidence)
    found = patterns.search(patterns.QUOTA_SHORT, said) if _waits(evidence) else None
    if found is None and (not _waits(evidence) or reason not in ("QuotaPending", "Pending", "WaitingForQuota")):
        return None
    values = _values(evidence)
    if found is None:
        return Match(values | {"wanted": "quota is not free yet"}, sure=Sure.LIKELY)
    resource = found["resource"]
    asked = _asked(_workload(evidence)).get(resource, 0.0)
    free, most = _free(evidence.get("clusterqueue"), resource, found["flavor"])
    if asked and most is not None and free is not None:
        whole = f"{written(asked, resource)} {noun(resource, asked)} are wanted and {written(free, resource)}"
        values["wanted"] = f"{whole} of its {written(most, resource)} are free"
    else:
        values["wanted"] = f"{found['more']} more {noun(resource)} are needed than are free"
    return Match(values | {"flavor": found["flavor"]})


def _asked(workload: Object) -> dict[str, float]:
    """Return what all pods of a Workload ask for together."""
    total: list[dict[str, float]] = []
    for group in items_of(workload, "spec", "podSets"):
        count = group.get("count")
        for container in items_of(group, "template", "spec", "containers"):
            limits, requests = part_of(container, "resources", "limits"), part_of(container, "resources", "requests")
            each = {name: number(value) for name, value in {**limits, **requests}.items()}
            total.append({name: value * (count if isinstance(count, int) else 1) for name, value in each.items()})
    return summed(total)


def _free(queue: object, resource: str, flavor: str) -> tuple[float | None, float | None]:
    """Return how much of a resource is free in a queue, and how much it has."""
    for group in items_of(queue, "spec", "resourceGroups"):
        for one in items_of(group, "flavors"):
            for entry in items_of(one, "resources"):
                if one.get("name") == flavor and entry.get("name") == resource:
                    most = number(entry.get("nominalQuota"))
                    return max(0.0, most - _used(queue, resource, flavor)), most
    return None, None


def _used(queue: object, resource: str, flavor: str) -> float:
    for one in items_of(queue, "status", "flavorsReservation"):
        for entry in items_of(one, "resources"):
            if one.get("name") == flavor and entry.get("name") == resource:
                return number(entry.get("total"))
    return 0.0


def too_large(evidence: Evidence) -> Match | None:
    found = patterns.search(patterns.QUOTA_NEVER, _said(evidence)[1]) if _waits(evidence) else None
    if found is None:
        return None
    return Match(_values(evidence) | {**found, "resource": noun(found["resource"])})


def flavor(evidence: Evidence) -> Match | None:
    reason, said = _said(evidence)
    found = patterns.search(patterns.FLAVOR_NONE, said) if _waits(evidence) else None
    if found is None and not (_waits(evidence) and reason == "NoMatchingFlavor"):
        return None
    return Match(_values(evidence) | {"resource": noun((found or {}).get("resource", "flavor"))})


def topology(evidence: Evidence) -> Match | None:
    found = patterns.search(patterns.TOPOLOGY, _said(evidence)[1]) if _waits(evidence) else None
    if found is None:
        return None
    fits = f"{found['fits']} of {found['all']} pods fit together" if found.get("fits") else ""
    return Match(_values(evidence) | found | {"fits": fits})


def check(evidence: Evidence) -> Match | None:
    """Quota is reserved, and an admission check is open."""
    if not _waits(evidence):
        return None
    for one in items_of(_workload(evidence), "status", "admissionChecks"):
        if one.get("state") in ("Pending", "Retry"):
            since = evidence.ago(text_of(one, "lastTransitionTime"))
            said = text_of(one, "message") or text_of(one, "state")
            return Match(_values(evidence) | {"check": text_of(one, "name"), "says": said, "since": since})
    own = evidence.condition("PodsReady")
    if own.get("reason") == "AdmissionChecks":
        return Match(_values(evidence) | {"check": "of its queue", "says": text_of(own, "message")})
    return None


def leaving(evidence: Evidence) -> Match | None:
    """Quota is taken from others, whose pods are not gone yet."""
    reason, said = _said(evidence)
    pending = "pending the preemption of" in said.lower()
    if not _waits(evidence) or (reason != "WaitingForPreemptedWorkloads" and not pending):
        return None
    return Match(_values(evidence) | {"says": said})


def preempted(evidence: Evidence) -> Match | None:
    evicted = condition_of(_workload(evidence).get("status"), "Evicted") if _waits(evidence) else {}
    own = text_of(evidence.condition("PodsReady"), "message")
    by = own.partition("preempted by ")[2].partition(";")[0].partition(":")[0] if _waits(evidence) else ""
    is_evicted = evicted.get("status") == "True" and evicted.get("reason") == "Preempted"
    if not by and not is_evicted:
        return None
    ago = evidence.ago(evicted.get("lastTransitionTime") or evidence.condition("Suspended").get("lastTransitionTime"))
    said = text_of(evicted, "message")
    return Match(_values(evidence) | {"ago_": f" {ago} ago" if ago else "", "by": by or "another job", "says": said})


def deactivated(evidence: Evidence) -> Match | None:
    workload = _workload(evidence) if _waits(evidence) else {}
    spec = part_of(workload, "spec")
    if spec.get("active") is not False:
        return None
    evicted = condition_of(workload.get("status"), "Evicted")
    ago = evidence.ago(evicted.get("lastTransitionTime"))
    return Match(
        _values(evidence)
        | {
            "workload": text_of(workload, "metadata", "name"),
            "ago_": f" {ago} ago" if ago else "",
            "says": text_of(evicted, "message"),
        }
    )


_ANOTHER = "kubectl label {resource} {name} -n {ns} --overwrite kueue.x-k8s.io/queue-name={other}"
RULES = (
    Rule(
        "queue.deactivated",
        Gate.QUEUE,
        deactivated,
        "Taken out of its queue{ago_}: its Workload is not active.",
        shows=(("queue", "{queue}"), ("Kueue", "{says}")),
        tries=(
            Try(
                'kubectl patch workload {workload} -n {ns} --type merge -p \'{{"spec":{{"active":true}}}}\'',
                "puts it back in line",
            ),
        ),
        explains=("queue.quota", "queue.preempted", "queue.stopped", "queue.too-large"),
    ),
    Rule(
        "queue.missing",
        Gate.QUEUE,
        missing,
        "Queue {queue} does not exist in {ns}.",
        shows=(("there are", "{known}"),),
        tries=(Try(_ANOTHER, "waits in that queue instead"),),
        explains=("queue.quota",),
    ),
    Rule(
        "queue.none",
        Gate.QUEUE,
        none,
        "The job asks for queue {queue}, and Kueue is not installed.",
        tries=(Try("kubectl label {resource} {name} -n {ns} kueue.x-k8s.io/queue-name-", "runs it without a queue"),),
        explains=("queue.quota",),
    ),
    Rule(
        "queue.stopped",
        Gate.QUEUE,
        stopped,
        "Queue {queue} is {how}: nothing in it starts.",
        shows=(("Kueue", "{says}"),),
        tries=(
            Try(
                'kubectl patch {what} {queue} -n {ns} --type merge -p \'{{"spec":{{"stopPolicy":"None"}}}}\'',
                "starts what waits in it",
                by="admin",
            ),
        ),
        explains=("queue.quota",),
    ),
    Rule(
        "queue.too-large",
        Gate.QUEUE,
        too_large,
        "Can never start: {asked} {resource} are wanted, queue {queue} can have {most} at most.",
        shows=(("flavor", "{flavor}"), ("Kueue", "{says}")),
        tries=(
            Try("kubedl get {name} -o yaml > {name}.yaml", "ask for less there, kubedl delete {name}, kubectl apply"),
        ),
        explains=("queue.quota",),
    ),
    Rule(
        "queue.flavor",
        Gate.QUEUE,
        flavor,
        "Queue {queue} has no {resource} that this job may use.",
        shows=(("Kueue", "{says}"),),
        explains=("queue.quota",),
    ),
    Rule(
        "queue.topology",
        Gate.QUEUE,
        topology,
        "Quota is free, but not within one {topology}.",
        shows=(("fits", "{fits}"), ("Kueue", "{says}")),
        explains=("queue.quota", "queue.flavor"),
    ),
    Rule(
        "queue.check",
        Gate.QUEUE,
        check,
        "Quota is reserved; check {check} is still open: {says}.",
        shows=(("since", "{since}"), ("queue", "{queue}")),
        explains=("queue.quota",),
    ),
    Rule(
        "queue.leaving",
        Gate.QUEUE,
        leaving,
        "Quota in queue {queue} is yours as soon as the pods of preempted jobs are gone.",
        shows=(("Kueue", "{says}"),),
        explains=("queue.quota",),
    ),
    Rule(
        "queue.preempted",
        Gate.QUEUE,
        preempted,
        "Preempted{ago_} by {by}{line_} to run again.",
        shows=(("queue", "{queue}"), ("in use by", "{holders}"), ("Kueue", "{says}")),
        explains=("queue.quota",),
    ),
    Rule(
        "queue.quota",
        Gate.QUEUE,
        quota,
        "Waiting{waited_} in queue {queue}: {wanted}{line_}.",
        shows=(("in use by", "{holders}"), ("before you", "{before}"), ("Kueue", "{says}")),
        tries=(Try("kubectl get workloads -n {ns}", "who is in the queue"),),
    ),
)
