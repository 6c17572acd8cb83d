"""Held by a person or from the start, without an operator, or before the code and the data are there."""

from kubedl.why.evidence import Evidence, Object, items_of, parse_time, part_of, text_of
from kubedl.why.facts import containers
from kubedl.why.rule import Gate, Match, Rule, Sure, Try

INVALID = {
    "CacheInvalid": "spec.cacheBackend",
    "CodeSourceInvalid": "spec.codeSource",
    "ModelVersionInvalid": "spec.modelVersion",
    "NetworkModeInvalid": "spec.networkMode",
    "PlacementInvalid": "placement",
    "PoolExcluded": "spec.spot",
    "PoolNotFound": "spec.spot",
    "SpotInvalid": "spec.spot",
    "TemplateInvalid": "the pod template",
    "TensorBoardInvalid": "spec.tensorBoard",
    "Unsupported": "an annotation",
}
FIRST_SIGN, BEHIND = 15.0, 30.0  # seconds that an operator may take for a new job, and for an edited one
STALE = 60.0  # seconds after which a lease that is not renewed belongs to nobody
GIT = "git-sync-code"


def by_person(evidence: Evidence) -> Match | None:
    """`spec.suspend` is true; the annotation or the field manager says who."""
    if not evidence.spec.get("suspend"):
        return None
    annotations = part_of(evidence.metadata, "annotations")
    person = text_of(annotations, "kubedl.io/suspended-by")
    manager, time = _manager(evidence)
    time = time or text_of(evidence.condition("Suspended"), "lastTransitionTime")
    ago = evidence.ago(time)
    by = f"by {person}" if person else f"with {manager}; no name is kept" if manager else "; nobody's name is kept"
    restarts = text_of(evidence.status, "restarts")
    return Match(
        {
            "ago_": f" {ago} ago" if ago else "",
            "by": by,
            "words": text_of(annotations, "kubedl.io/suspended-reason"),
            "done": f"it had restarted {restarts} times" if restarts not in ("", "0") else "",
        }
    )


def _manager(evidence: Evidence) -> tuple[str, str]:
    """Return who last wrote `suspend`, and when."""
    found = [one for one in items_of(evidence.metadata, "managedFields") if one.get("writesSuspend")]
    latest = max(found, key=lambda one: text_of(one, "time"), default={})
    return text_of(latest, "manager"), text_of(latest, "time")


def unsupported(evidence: Evidence) -> Match | None:
    condition = evidence.condition("Failed")
    reason, said = text_of(condition, "reason"), text_of(condition, "message")
    field = INVALID.get(reason)
    if condition.get("status") != "True" or field is None:
        return None
    if reason == "Unsupported" and said.startswith("spec."):
        field = "what it asks for"  # an elastic job in a queue
    return Match({"field": field, "words": said, "reason": reason})


def _is_unattended(evidence: Evidence) -> bool:
    """Return whether the operator should have looked at the object, and has not."""
    created = evidence.passed(evidence.metadata.get("creationTimestamp"))
    if not evidence.status.get("conditions"):
        return created is not None and created >= FIRST_SIGN
    generation, seen = evidence.metadata.get("generation"), evidence.status.get("observedGeneration")
    behind = isinstance(generation, int) and isinstance(seen, int) and seen < generation
    times = [text_of(one, "time") for one in items_of(evidence.metadata, "managedFields")]
    edited = max((moment for time in times if (moment := parse_time(time)) is not None), default=None)
    return bool(behind and edited is not None and (evidence.now - edited).total_seconds() >= BEHIND)


def absent(evidence: Evidence) -> Match | None:
    """Nobody works on it, and the lease is old or not there."""
    if not _is_unattended(evidence):
        return None
    leases = evidence.listed("lease")
    if evidence.get("lease") is None:
        return Match({"sign": "no operator has written anything about it", "lease_ns": ""}, sure=Sure.LIKELY)
    renewed = [passed for one in leases if (passed := evidence.passed(text_of(one, "spec", "renewTime"))) is not None]
    if renewed and min(renewed) < STALE:
        return None
    newest: Object = max(leases, key=lambda one: text_of(one, "spec", "renewTime"), default={})
    ago = evidence.ago(text_of(newest, "spec", "renewTime"))
    return Match(
        {
            "sign": f"the operator last gave a sign {ago} ago" if ago else "no operator has ever held its lease",
            "holder": text_of(newest, "spec", "holderIdentity"),
            "lease_ns": text_of(newest, "metadata", "namespace") or "kubedl-system",
        }
    )


def elsewhere(evidence: Evidence) -> Match | None:
    """Nobody works on it, and the lease is fresh."""
    leases = evidence.listed("lease") if _is_unattended(evidence) else []
    for one in leases:
        passed = evidence.passed(text_of(one, "spec", "renewTime"))
        if passed is not None and passed < STALE:
            name = text_of(one, "metadata", "name").removeprefix("kubedl-operator").lstrip("-")
            if name == evidence.namespace:  # it is for this one, and late
                continue
            return Match(
                {"holder": text_of(one, "spec", "holderIdentity"), "serves": f"namespace {name}" if name else ""}
            )
    return None


def by_schedule(evidence: Evidence) -> Match | None:
    """The job is the template of a Cron, and never has pods."""
    return Match() if evidence.status.get("reason") == "JobScheduled" else None


def code_failed(evidence: Evidence) -> Match | None:
    condition = evidence.condition("Failed")
    if condition.get("status") != "True" or condition.get("reason") != "CodeSyncFailed":
        return None
    source = part_of(evidence.spec, "codeSource")
    return Match(
        {
            "words": text_of(condition, "message"),
            "repository": text_of(source, "repository"),
            "branch": text_of(source, "branch"),
        }
    )


def code_first_pod(evidence: Evidence) -> Match | None:
    condition = evidence.condition("PodsReady")
    waits = condition.get("reason") == "WaitingForCode"
    fetching = [one for pod in evidence.pods for one in containers(pod) if one.name == GIT and not one.ended]
    fetching = [one for one in fetching if part_of(one.status, "state", "running")]
    if not waits or not fetching:
        return None
    started = text_of(fetching[0].status, "state", "running", "startedAt")
    return Match({"ago_": f" for {evidence.ago(started)}" if evidence.ago(started) else ""})


def cache_waiting(evidence: Evidence) -> Match | None:
    condition = evidence.condition("WaitingForCache")
    if condition.get("status") != "True":
        return None
    name = text_of(evidence.status, "cacheBackendName") or text_of(evidence.spec, "cacheBackend", "name")
    return Match({"cache": name or evidence.name, "words": text_of(condition, "message")})


RULES = (
    Rule(
        "held.by-person",
        Gate.HELD,
        by_person,
        "Suspended{ago_} {by}.",
        shows=(("because", "{words}"), ("before", "{done}")),
        tries=(
            Try(
                "kubedl resume {name} -n {ns}",
                "starts it again",
            ),
        ),
        explains=("queue.",),
    ),
    Rule(
        "held.by-schedule",
        Gate.HELD,
        by_schedule,
        "It has a schedule and never runs by itself: Cron {name} starts its runs.",
        tries=(Try("kubedl why cron/{name}", "whether runs start"),),
    ),
    Rule(
        "held.unsupported",
        Gate.HELD,
        unsupported,
        "Failed at once: {field} cannot be used: {words}.",
        shows=(("reason", "{reason}"),),
        tries=(Try("kubedl get {name} -o yaml > {name}.yaml", "change it there, kubedl delete {name}, kubectl apply"),),
        over=True,
    ),
    Rule(
        "operator.absent",
        Gate.OPERATOR,
        absent,
        "Nobody works on this {kind}: {sign}.",
        shows=(("lease", "last held by {holder}"),),
        tries=(Try("kubectl get pods -n {lease_ns}", "is the operator's pod there?", by="admin"),),
        about=("job", "model", "inference", "cron"),
    ),
    Rule(
        "operator.elsewhere",
        Gate.OPERATOR,
        elsewhere,
        "the operator does not serve namespace {ns}.",
        shows=(("lease", "held by {holder}"), ("serves", "{serves}")),
        sure=Sure.GUESS,
        about=("job", "model", "inference", "cron"),
    ),
    Rule(
        "code.failed",
        Gate.CODE,
        code_failed,
        "The code cannot be fetched: {words}.",
        shows=(("from", "{repository}"), ("branch", "{branch}")),
        tries=(
            Try("kubedl get {name} -o yaml > {name}.yaml", "correct codeSource, kubedl delete {name}, kubectl apply"),
        ),
        over=True,
    ),
    Rule(
        "code.first-pod",
        Gate.CODE,
        code_first_pod,
        "Fetching the code{ago_}; the other replicas start when its commit is known.",
        tries=(Try("kubectl logs -n {ns} -l training.kubedl.io/job-name={name} -c git-sync-code", "what git says"),),
    ),
    Rule(
        "cache.waiting",
        Gate.CODE,
        cache_waiting,
        "Waiting for the dataset cache {cache}: {words}.",
        tries=(Try("kubectl describe cachebackend {cache} -n {ns}", "what the cache waits for"),),
    ),
)
