"""The state of a namespace without what differs from run to run: times, uids, versions.

Two runs of a scenario are equal when their digests are, whatever happened to the operator on the way.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from harness.drivers.cluster_watcher import ClusterWatcher
from kubedl.training.kinds import all_kinds
from testbed.api import Object

# Anything in a status that is a moment; that it is there is part of the state, when it was is not.
MOMENTS = frozenset(
    {"lastTransitionTime", "startTime", "completionTime", "lastUsedTime", "finishTime", "since", "stepSince"}
    | {"seenAt", "takenAt", "requestedAt", "confirmedAt", "leftAt", "endedAt"}
    | {"startedAt", "movedAt", "waitingSince", "untrustedSince", "measuredAt", "projectedEnd", "at"}
    | {"lastScheduleTime", "nextScheduleTime", "created", "finished", "lastUpdateTime", "lastReconcileTime"}
)
# Of the last failure: what was seen of it depends on when an operator looked, which is later after a crash.
AS_SEEN = frozenset({"followers", "message", "node", "time"})
UIDS = ("training.kubedl.io/job-uid", "model.kubedl.io/version-uid", "serving.kubedl.io/inference-uid")  # labels
# Names that end with a uid or a part of one: versions that a job left, their builds, claims.
PASSING = re.compile(r"((?:image-build-)?mv-.+)-[0-9a-f]{5}|(mv-pvc)-[0-9a-f-]{36}")
# In messages: moments, how long something took, nodes on paper, and such names.
IN_MESSAGES = (
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"), "(moment)"),
    (re.compile(r"\bafter [0-9]+ (?:s|min|h|d)\b(?: [0-9]+ (?:s|min|h)\b)?"), "after (duration)"),
    (re.compile(r"\bplayed-[0-9]+-[0-9]+\b"), "(node)"),
    (re.compile(r"\b(mv-[a-z0-9.-]+)-[0-9a-f]{5}\b"), r"\1"),
)


def digest(watcher: ClusterWatcher, namespace: str) -> Object:
    """What users made and what was made for them, by name, and nothing of it that a second run could not repeat."""
    versions = watcher.all("modelversions", namespace)
    jobs = {name: body for kind in all_kinds() for name, body in watcher.all(kind.plural, namespace).items()}
    inferences = watcher.all("inferences", namespace)
    owners = {body["metadata"]["uid"]: lasting(name) for name, body in (jobs | versions | inferences).items()}
    return {
        "jobs": {name: of_job(body) for name, body in jobs.items()},
        "caches": {name: of_job(body) for name, body in watcher.all("cachebackends", namespace).items()},
        "crons": {name: of_cron(body) for name, body in watcher.all("crons", namespace).items()},
        "resizes": {
            f"{plural} {name}": of_resize(body)
            for plural in ("scaleins", "scaleouts")
            for name, body in watcher.all(plural, namespace).items()
        },
        "models": {name: of_job(body) for name, body in watcher.all("models", namespace).items()},
        "versions": {lasting(name): of_version(body, owners) for name, body in versions.items()},
        "builds": {lasting(name): of_pod(body, owners) for name, body in watcher.all("builds", namespace).items()},
        "pods": {name: of_pod(body, owners) for name, body in watcher.all("pods", namespace).items()},
        "services": {name: of_service(body, owners) for name, body in watcher.all("services", namespace).items()},
        "inferences": {name: of_inference(body) for name, body in inferences.items()},
        "addresses": {name: of_service(body, owners) for name, body in watcher.all("addresses", namespace).items()},
        "deployments": {
            name: of_deployment(body, owners) for name, body in watcher.all("deployments", namespace).items()
        },
        "scalers": {name: _owner(body, owners) for name, body in watcher.all("scalers", namespace).items()},
        "routes": {name: of_route(body, owners) for name, body in watcher.all("routes", namespace).items()},
    }


def of_job(body: Object) -> Object:
    """What the user asked for by version, and what the operator says about it."""
    status = timeless(body.get("status") or {})
    for name in AS_SEEN & (status.get("lastFailure") or {}).keys():
        del status["lastFailure"][name]
    return {"generation": body["metadata"]["generation"], "status": status}


def of_cron(body: Object) -> Object:
    """As a job; its runs have uids, and carry the namespace."""
    said = of_job(body)
    for entry in said["status"].get("active") or []:
        entry.update(uid=bool(entry.get("uid")), namespace="here")
    return said


def of_resize(body: Object) -> Object:
    """As a job; a ScaleIn or a ScaleOut knows the uid of its job."""
    said = of_job(body)
    said["status"]["jobUid"] = bool(said["status"].get("jobUid"))
    return said


def of_inference(body: Object) -> Object:
    """As a job; its addresses carry the namespace, which every run has another of."""
    said: Object = json.loads(json.dumps(of_job(body)).replace(body["metadata"]["namespace"], "here"))
    return said


def of_version(body: Object, owners: Mapping[str, str]) -> Object:
    """As a job, and where it comes from."""
    return of_job(body) | {"labels": _labels(body, owners), "owner": _owner(body, owners)}


def lasting(name: str) -> str:
    """A name without what differs from run to run."""
    found = PASSING.fullmatch(name)
    return found[found.lastindex or 0] if found else name


def of_pod(body: Object, owners: Mapping[str, str]) -> Object:
    """Whose it is, which replica of which attempt, and how it is."""
    return {
        "labels": _labels(body, owners),
        "owner": _owner(body, owners),
        "phase": body["status"]["phase"],
        "leaving": "deletionTimestamp" in body["metadata"],
    }


def of_service(body: Object, owners: Mapping[str, str]) -> Object:
    """Whose it is, and that it can be found."""
    ports = [port["port"] for port in body["spec"].get("ports") or ()]
    return {"labels": _labels(body, owners), "owner": _owner(body, owners), "ports": ports}


def of_deployment(body: Object, owners: Mapping[str, str]) -> Object:
    """Whose it is, how many pods it asks for, and what they are given."""
    said = body["metadata"].get("annotations") or {}
    given = {name: said.get(f"serving.kubedl.io/{name}") for name in ("model-version", "image", "loader")}
    return {"owner": _owner(body, owners), "replicas": body["spec"]["replicas"], **given}


def of_route(body: Object, owners: Mapping[str, str]) -> Object:
    """Whose it is, and whom it leads to."""
    refs = [ref for rule in body["spec"]["rules"] for ref in rule.get("backendRefs") or ()]
    return {"owner": _owner(body, owners), "shares": {ref["name"]: ref["weight"] for ref in refs}}


def timeless(value: Any) -> Any:  # noqa: ANN401 - any part of a JSON document
    """The same with every moment replaced by the fact that there is one."""
    if isinstance(value, Mapping):
        return {name: bool(part) if name in MOMENTS else timeless(part) for name, part in value.items()}
    if isinstance(value, list):
        # Conditions are a map by type: their order is that of their first appearance, which a restart may change.
        return sorted((timeless(part) for part in value), key=repr)
    return repeatable(lasting(value)) if isinstance(value, str) else value


def repeatable(message: str) -> str:
    """A message without what differs from run to run."""
    for pattern, instead in IN_MESSAGES:
        message = pattern.sub(instead, message)
    return message


def differences(wanted: Object, found: Object, path: str = "") -> list[str]:
    """Where two digests differ, a line each."""
    lines = []
    for name in sorted({*wanted, *found}):
        place = f"{path}.{name}".lstrip(".")
        here, there = wanted.get(name), found.get(name)
        if isinstance(here, dict) and isinstance(there, dict):
            lines += differences(here, there, place)
        elif here != there:
            lines.append(f"{place}: {here!r} in the undisturbed run, {there!r} here")
    return lines


def _labels(body: Object, owners: Mapping[str, str]) -> Object:
    labels: Object = body["metadata"].get("labels") or {}
    return {name: owners.get(value, "?" if name in UIDS else value) for name, value in labels.items()}


def _owner(body: Object, owners: Mapping[str, str]) -> str:
    references = body["metadata"].get("ownerReferences") or []
    return ", ".join(owners.get(reference["uid"], "somebody else") for reference in references)
