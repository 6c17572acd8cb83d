"""Whether a queue and the namespace have quota for a job that does not exist yet. Pure."""

from collections.abc import Mapping, Sequence

from kubedl.why.evidence import Evidence, Object, items_of, part_of, text_of
from kubedl.why.fitting import Fit, pods_of
from kubedl.why.quantities import noun, number, requests_of, summed, written
from kubedl.why.rules.queue import queue_of

DEFAULT = "default"  # the queue of jobs that name none, if the namespace has it
LIMITS = "limits."


def admits(evidence: Evidence) -> Fit | None:
    """Return why a job would not be admitted; None if nothing is known to hold it."""
    return _by_queue(evidence) or _by_namespace(evidence)


def chosen_queue(evidence: Evidence) -> Object:
    """Return the LocalQueue that a job would wait in; empty if none."""
    name = queue_of(evidence) or DEFAULT
    return next((one for one in evidence.listed("localqueues") if text_of(one, "metadata", "name") == name), {})


def _by_queue(evidence: Evidence) -> Fit | None:
    name, local = queue_of(evidence), chosen_queue(evidence)
    if not local:
        return _missing(evidence, name) if name else None
    shared = evidence.get("clusterqueue")
    for queue in (local, shared):
        if text_of(queue, "spec", "stopPolicy") not in ("", "None"):
            return Fit("wait", f"Queue {name or DEFAULT} is stopped: nothing in it starts.", "queue.stopped")
    return _by_quota(evidence, name or DEFAULT, shared) if isinstance(shared, Mapping) else None


def _missing(evidence: Evidence, name: str) -> Fit | None:
    there = evidence.get("localqueues")
    if there is None:
        if evidence.denied.get("localqueues") == "not there":
            return Fit("no", f"The job asks for queue {name}, and Kueue is not installed.", "queue.none")
        return None
    known = ", ".join(sorted(text_of(one, "metadata", "name") for one in evidence.listed("localqueues"))[:8])
    shows = [("there are", known or "none")]
    return Fit("no", f"Queue {name} does not exist in {evidence.namespace}.", "queue.missing", shows)


def _by_quota(evidence: Evidence, name: str, queue: Object) -> Fit | None:
    total = summed(map(requests_of, pods_of(evidence)))
    covered = _covered(queue)
    shares = bool(text_of(queue, "spec", "cohortName") or text_of(queue, "spec", "cohort"))
    waiting = text_of(queue, "status", "pendingWorkloads")
    shows = [("before you", f"{waiting} wait in it")] if waiting not in ("", "0") else []
    late: Fit | None = None
    for resource, asked in total.items():
        if not asked or not covered:
            continue
        if resource not in covered:
            return Fit("no", f"Queue {name} has no {noun(resource)}.", "queue.flavor")
        most, used = covered[resource]
        wants = f"{written(asked, resource)} {noun(resource, asked)}"
        if asked > most and not shares:
            first = f"Can never start: {wants} are wanted, queue {name} has {written(most, resource)}."
            return Fit("no", first, "queue.too-large", shows)
        if asked > most - used and late is None:
            free = written(max(0.0, most - used), resource)
            ending = ", unless it borrows." if shares else "."
            first = f"{wants} are wanted, and {free} of the {written(most, resource)} of queue {name} are free{ending}"
            late = Fit("wait", first, "queue.quota", shows)
    return late


def _covered(queue: Object) -> dict[str, tuple[float, float]]:
    """Return by resource the quota of a queue, and what is reserved of it; flavors are added up."""
    quota: dict[str, float] = {}
    used: dict[str, float] = {}
    for group in items_of(queue, "spec", "resourceGroups"):
        for flavor in items_of(group, "flavors"):
            for one in items_of(flavor, "resources"):
                name = text_of(one, "name")
                quota[name] = quota.get(name, 0.0) + number(one.get("nominalQuota"))
    for flavor in items_of(queue, "status", "flavorsReservation"):
        for one in items_of(flavor, "resources"):
            used[text_of(one, "name")] = used.get(text_of(one, "name"), 0.0) + number(one.get("total"))
    return {name: (value, used.get(name, 0.0)) for name, value in quota.items()}


def _by_namespace(evidence: Evidence) -> Fit | None:
    pods = pods_of(evidence)
    wanted = _as_quota_counts(pods)
    for quota in evidence.listed("quotas"):
        if part_of(quota, "spec", "scopeSelector") or part_of(quota, "spec").get("scopes"):
            continue  # it may be about other pods
        name, used = text_of(quota, "metadata", "name"), part_of(quota, "status", "used")
        for key, limit in part_of(quota, "status", "hard").items():
            asked, most = wanted.get(key, 0.0), number(limit)
            plain = key.removeprefix("requests.").removeprefix(LIMITS)
            if not asked or asked + number(used.get(key)) <= most:
                continue
            free = written(max(0.0, most - number(used.get(key))), plain)
            what = f"{written(asked, plain)} {noun(plain, asked)} are wanted"
            of = f"{free} of the {written(most, plain)} of quota {name} are free"
            if asked > most:
                return Fit("no", f"Can never start: {what}, quota {name} has {written(most, plain)}.", "refused.quota")
            return Fit("wait", f"{what}, and {of}.", "refused.quota")
    return None


def _as_quota_counts(pods: Sequence[Object]) -> dict[str, float]:
    """Return what pods ask for by the names of a ResourceQuota."""
    total = summed(map(requests_of, pods))
    found = {"pods": float(len(pods)), "count/pods": float(len(pods))}
    for name, value in total.items():
        found[f"requests.{name}"] = value
        if "/" not in name:
            found[name] = value
    limits = summed(
        {f"{LIMITS}{name}": number(value) for name, value in part_of(one, "resources", "limits").items()}
        for pod in pods
        for one in items_of(pod, "spec", "containers")
    )
    return found | {name: value for name, value in limits.items() if "/" not in name}
