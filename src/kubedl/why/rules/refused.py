"""Objects that the API server refuses: the words of its admission, from the condition Blocked."""

import shlex
from collections.abc import Callable

from kubedl.kube.bounded_regex import BoundedPattern
from kubedl.why import message_patterns as patterns
from kubedl.why.evidence import Evidence, text_of
from kubedl.why.quantities import noun, number
from kubedl.why.rule import Gate, Match, Rule, Try

LIST_LIMIT = 16


def refusal(evidence: Evidence) -> tuple[str, str]:
    """Return reason and words of the refusal; empty if nothing is refused."""
    blocked = evidence.condition("Blocked")
    if blocked.get("status") != "True":
        return "", ""
    return text_of(blocked, "reason"), text_of(blocked, "message")


def saying(pattern: BoundedPattern) -> Callable[[Evidence], Match | None]:
    """Return the check of a rule that only reads words of the refusal."""

    def when(evidence: Evidence) -> Match | None:
        said = refusal(evidence)[1]
        found = patterns.search(pattern, said) if said else None
        return Match(_renamed(found) | {"says": said}) if found is not None else None

    return when


def _renamed(found: dict[str, str]) -> dict[str, str]:
    """Return values without `name`, which is that of the job in every text."""
    return {"name_" if name == "name" else name: value for name, value in found.items()}


def _amounts(text: str) -> dict[str, str]:
    pairs = (pair.strip().partition("=") for pair in text.split(",")[:LIST_LIMIT])
    return {name: value for name, _, value in pairs if value}


def quota(evidence: Evidence) -> Match | None:
    """The first resource of the quota that is exceeded."""
    said = refusal(evidence)[1]
    found = patterns.search(patterns.QUOTA, said) if said else None
    if found is None:
        return None
    asked, used, limited = (_amounts(found[name]) for name in ("asked", "used", "limited"))
    over = [one for one in asked if number(asked[one]) + number(used.get(one)) > number(limited.get(one))]
    resource = (over or list(asked) or ["pods"])[0]
    short = resource.removeprefix("requests.").removeprefix("limits.")
    values = {
        "quota": found["quota"],
        "used": used.get(resource, "?"),
        "most": limited.get(resource, "?"),
        "asked": asked.get(resource, "?"),
        "resource": noun(short),
        "says": said,
    }
    return Match(values)


def pod_security(evidence: Evidence) -> Match | None:
    said = refusal(evidence)[1]
    found = patterns.search(patterns.POD_SECURITY, said) if said else None
    if found is None:
        return None
    first = found["violations"].partition(" (")[0].partition(",")[0]
    return Match({"level": found["level"], "first": first, "all": found["violations"]})


def policy(evidence: Evidence) -> Match | None:
    said = refusal(evidence)[1]
    found = (
        patterns.search(patterns.POLICY_DENIED, said) or patterns.search(patterns.WEBHOOK_DENIED, said)
        if said
        else None
    )
    return Match(_renamed(found) | {"words": found["words"] or "without an explanation"}) if found is not None else None


def name_taken(evidence: Evidence) -> Match | None:
    reason, said = refusal(evidence)
    if not reason.endswith("NameTaken"):
        return None
    kind = reason.removesuffix("NameTaken").lower() or "pod"
    quoted = [word.strip('"') for word in said.split() if word.startswith('"') and word.endswith('"')]
    named = next((word.rstrip(",;:") for word in said.split() if word.startswith(f"{evidence.name}-")), "")
    return Match({"object": kind, "occupied": (quoted or [named])[0] or evidence.name, "says": said})


def reference(evidence: Evidence) -> Match | None:
    said = refusal(evidence)[1]
    for pattern, kind in ((patterns.ACCOUNT_MISSING, "ServiceAccount"), (patterns.PRIORITY_MISSING, "PriorityClass")):
        found = patterns.search(pattern, said) if said else None
        if found is not None:
            create = f"kubectl create serviceaccount {shlex.quote(found['name'])} -n {evidence.namespace}"
            return Match({"what": kind, "which": found["name"], "create": create if "Account" in kind else ""})
    return None


_CHANGE = Try("kubedl get {name} -o yaml > {name}.yaml", "change it there, kubedl delete {name}, kubectl apply")
RULES = (
    Rule(
        "refused.quota",
        Gate.REFUSED,
        quota,
        "The namespace's quota {quota} is full: {used} of {most} {resource} are used, {asked} more are wanted.",
        tries=(
            Try("kubectl describe resourcequota {quota} -n {ns}", "what is used"),
            Try("kubectl get pods -n {ns}", "who uses it"),
        ),
    ),
    Rule(
        "refused.quota-needs",
        Gate.REFUSED,
        saying(patterns.QUOTA_NEEDS),
        "Quota {quota} wants {what} to be said, and the job does not.",
        shows=(("container", "{container}"),),
        tries=(_CHANGE,),
    ),
    Rule(
        "refused.limit-range",
        Gate.REFUSED,
        saying(patterns.LIMIT_RANGE),
        "The {bound} of one {scope} is {limit} {resource} in {ns}, {asked} is wanted.",
        tries=(Try("kubectl describe limitrange -n {ns}", "what is allowed"), _CHANGE),
    ),
    Rule(
        "refused.pod-security",
        Gate.REFUSED,
        pod_security,
        "This namespace allows only {level} pods: {first}.",
        shows=(("all", "{all}"),),
        tries=(Try("kubectl get namespace {ns} -o yaml", "its label pod-security.kubernetes.io/enforce"),),
    ),
    Rule(
        "refused.policy",
        Gate.REFUSED,
        policy,
        "Policy {name_} refuses the pods: {words}.",
    ),
    Rule(
        "refused.webhook-down",
        Gate.REFUSED,
        saying(patterns.WEBHOOK_DOWN),
        "Pods cannot be made: webhook {name_} does not answer: {words}.",
        shows=(("service", "{service}"),),
        tries=(
            Try("kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations", "whose it is", by="admin"),
        ),
    ),
    Rule(
        "refused.name",
        Gate.REFUSED,
        name_taken,
        "{object} {occupied} belongs to somebody else, so its replica cannot be made.",
        shows=(("says", "{says}"),),
        tries=(Try("kubectl get {object} {occupied} -n {ns} -o yaml", "whose it is"),),
    ),
    Rule(
        "refused.reference",
        Gate.REFUSED,
        reference,
        "The job names {what} {which}, which does not exist.",
        tries=(Try("{create}", "makes it"),),
    ),
)
