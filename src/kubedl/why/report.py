"""The diagnosis as lines of text and as data. Pure."""

from collections.abc import Mapping
from typing import Any

from kubedl.history.creator import creator
from kubedl.history.observed import RecordedMeta
from kubedl.kube import codec
from kubedl.why.evidence import Evidence
from kubedl.why.judging import Diagnosis

API_VERSION = "cli.kubedl.io/v1alpha1"
LONGEST_LINE = 2000
# What is not known if a part may not be read.
UNCHECKED = {
    "nodes": "so fit is not checked",
    "node_pods": "so who holds the nodes is not known",
    "clusterqueue": "so the quota of the queue is not known",
    "localqueues": "so other queues are not known",
    "workload": "so the place in the queue is not known",
    "events": "so warnings of the kubelet are not known",
    "lease": "so the operator is not checked",
    "logs": "so nothing that was printed is known",
    "pods": "so the pods are not known",
    "claims": "so claims are not checked",
}
MODEST = ("not there", "not collected", "no version is named", "the job was deleted")


def lines(diagnosis: Diagnosis, *, everything: bool = False) -> list[str]:
    """Return the text: the answer, what supports it, and what helps."""
    found = [_one_line(diagnosis.first)]
    width = max([len(label) for label, _ in diagnosis.supporting] + [len("now")], default=3)
    found += [f"  {label:{width}}  {_one_line(text)}" for label, text in diagnosis.supporting]
    for number, one in enumerate(diagnosis.tries):
        who = f" ({one.by})" if one.by != "you" else ""
        effect = f"      {one.effect}{who}" if one.effect or who else ""
        found.append(f"  {'or' if number else 'now':{width}}  {one.command}{effect}")
    if everything:
        for other in diagnosis.also:
            found += ["", f"{other.rule.id} ({other.sure.name.lower()}): {_one_line(other.first)}"]
            found += [f"  {label}  {_one_line(text)}" for label, text in other.supporting]
    return found


def remarks(diagnosis: Diagnosis) -> list[str]:
    """Return what could not be read."""
    return [
        f"{part}: {said}{f', {UNCHECKED[part]}' if part in UNCHECKED else ''}"
        for part, said in sorted(diagnosis.denied.items())
        if said not in MODEST
    ]


def to_plain(diagnosis: Diagnosis, evidence: Evidence) -> Mapping[str, Any]:
    """Return the diagnosis as data, for programs."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Diagnosis",
        "object": {"kind": evidence.kind, "namespace": evidence.namespace, "name": evidence.name},
        "submittedBy": _submitter(evidence),
        "known": diagnosis.is_known,
        "rule": diagnosis.rule,
        "sure": diagnosis.sure,
        "first": diagnosis.first,
        "supporting": [{"label": label, "text": _one_line(text)} for label, text in diagnosis.supporting],
        "tries": [{"command": one.command, "effect": one.effect, "by": one.by} for one in diagnosis.tries],
        "also": [{"rule": one.rule.id, "sure": one.sure.name.lower(), "first": one.first} for one in diagnosis.also],
        "denied": dict(diagnosis.denied),
    }


def _submitter(evidence: Evidence) -> Mapping[str, str]:
    """Return who made the object, as far as it says so: a user by annotation, and the program."""
    try:
        found = creator(codec.decode(codec.encode(evidence.metadata), RecordedMeta))
    except codec.UNREADABLE:
        return {}
    return {"user": found.user, "client": found.client}


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    while line.endswith(".."):
        line = line[:-1]
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"
