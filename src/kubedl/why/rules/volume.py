"""Volumes that are not there, not bound, elsewhere, or cannot be mounted."""

import shlex

from kubedl.why import message_patterns as patterns
from kubedl.why.evidence import Evidence, Object, items_of, text_of
from kubedl.why.facts import about, events_with, is_ready, phase_of, pod_named, unscheduled
from kubedl.why.rule import Gate, Match, Rule, Try
from kubedl.why.rules.fit import ELSEWHERE

MOST_NAMED = 8
ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


def claims_of(pod: Object) -> list[str]:
    """Return the claims that a pod mounts."""
    found = [text_of(one, "persistentVolumeClaim", "claimName") for one in items_of(pod, "spec", "volumes")]
    return [name for name in found if name]


def _claim(evidence: Evidence, name: str) -> Object:
    return next((one for one in evidence.listed("claims") if text_of(one, "metadata", "name") == name), {})


def missing(evidence: Evidence) -> Match | None:
    for _, message in unscheduled(evidence):
        if (found := patterns.search(patterns.CLAIM_MISSING, message)) is not None:
            known = [text_of(one, "metadata", "name") for one in evidence.listed("claims")]
            return Match(found | {"known": ", ".join(sorted(known)[:MOST_NAMED])}, len(unscheduled(evidence)))
    return None


def unbound(evidence: Evidence) -> Match | None:
    waiting = [(pod, text) for pod, text in unscheduled(evidence) if "unbound immediate PersistentVolumeClaims" in text]
    if not waiting:
        return None
    names = claims_of(waiting[0][0])
    pending = [name for name in names if text_of(_claim(evidence, name), "status", "phase") == "Pending"]
    name = (pending or names or ["?"])[0]
    claim = _claim(evidence, name)
    said = [one for one in evidence.listed("claim_events") if about(one) == name]
    says = text_of(said[-1], "message") if said else "no volume fits it, and no provisioner made one"
    size = text_of(claim, "spec", "resources", "requests", "storage")
    access = ", ".join(str(one) for one in claim.get("spec", {}).get("accessModes") or ()) if claim else ""
    storage = text_of(claim, "spec", "storageClassName") or ("no class" if claim else "")
    return Match({"claim": name, "says": says, "size": size, "access": access, "storage": storage}, len(waiting))


def zone(evidence: Evidence) -> Match | None:
    waiting = [(pod, text) for pod, text in unscheduled(evidence) if any(one in text for one in ELSEWHERE)]
    if not waiting:
        return None
    names = claims_of(waiting[0][0])
    bound = [text_of(_claim(evidence, name), "spec", "volumeName") for name in names]
    zones: dict[str, int] = {}
    for node in evidence.listed("nodes"):
        where = next((text_of(node, "labels", key) for key in ZONES if text_of(node, "labels", key)), "no zone")
        zones[where] = zones.get(where, 0) + 1
    per_zone = ", ".join(f"{name}: {count}" for name, count in sorted(zones.items())[:MOST_NAMED])
    return Match({"claim": (names or ["?"])[0], "volume": (bound or [""])[0], "zones": per_zone}, len(waiting))


def _unmounted(evidence: Evidence, reason: str) -> list[Object]:
    """Return events about pods that have not started since."""
    pods = [(one, pod_named(evidence, about(one))) for one in events_with(evidence, reason)]
    return [event for event, pod in pods if pod and not is_ready(pod) and phase_of(pod) == "Pending"]


def multi_attach(evidence: Evidence) -> Match | None:
    for event in reversed(_unmounted(evidence, "FailedAttachVolume")):
        found = patterns.search(patterns.MULTI_ATTACH, text_of(event, "message"))
        if found is not None:
            used = claims_of(pod_named(evidence, about(event)))
            return Match(found | {"claim": ", ".join(used[:2]) or found["volume"], "pod": about(event)})
    return None


def mount(evidence: Evidence) -> Match | None:
    failed = _unmounted(evidence, "FailedMount")
    if not failed:
        return None
    event = failed[-1]
    said = text_of(event, "message")
    found = patterns.search(patterns.MOUNT, said) or {"volume": "a volume", "words": said}
    lacking = patterns.search(patterns.OBJECT_MISSING, said)
    create = ""
    if lacking is not None:
        kind = "secret generic" if lacking["kind"] == "secret" else "configmap"
        create = f"kubectl create {kind} {shlex.quote(lacking['name'])} -n {evidence.namespace} --from-file=FILE"
    return Match(found | {"pod": about(event), "create": create})


RULES = (
    Rule(
        "volume.missing",
        Gate.VOLUME,
        missing,
        "Claim {claim} does not exist in {ns}.",
        shows=(("there are", "{known}"),),
        tries=(Try("kubectl get pvc -n {ns}", "the claims that exist"),),
    ),
    Rule(
        "volume.unbound",
        Gate.VOLUME,
        unbound,
        "Claim {claim} has no volume: {says}.",
        shows=(("class", "{storage}"), ("size", "{size}"), ("access", "{access}")),
        tries=(Try("kubectl describe pvc {claim} -n {ns}", "what its provisioner says", by="admin"),),
    ),
    Rule(
        "volume.zone",
        Gate.VOLUME,
        zone,
        "The volume of claim {claim} is where no fitting node is.",
        shows=(("volume", "{volume}"), ("nodes", "{zones}")),
        tries=(Try("kubectl describe pv {volume}", "its node affinity"),),
    ),
    Rule(
        "volume.multi-attach",
        Gate.VOLUME,
        multi_attach,
        "Claim {claim} can be on one node only: {words}.",
        shows=(("pod", "{pod}"), ("volume", "{volume}")),
        tries=(Try("kubectl get pvc -n {ns}", "a claim with access RWX can be on many"),),
    ),
    Rule(
        "volume.mount",
        Gate.VOLUME,
        mount,
        "{pod} cannot mount {volume}: {words}.",
        tries=(Try("{create}", "makes what is missing"),),
        explains=("image.slow",),
    ),
)
