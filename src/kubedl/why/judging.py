"""Asks the rules gate by gate, and chooses the cause. Pure, but for the parts that rules ask for."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kubedl.why.evidence import Evidence, part_of, text_of
from kubedl.why.rule import Found, Gate, Rule, Sure, Try

LAST_WARNINGS = 5
TOGETHER = Gate.MEET  # from here on all gates are asked: an end explains what happened during the run


@dataclass(frozen=True)
class Diagnosis:
    """The answer: `rule` is empty if nothing holds the object up, or if no rule could tell."""

    first: str
    rule: str = ""
    sure: str = "certain"
    is_known: bool = True
    supporting: Sequence[tuple[str, str]] = ()
    tries: Sequence[Try] = ()
    also: Sequence[Found] = ()
    denied: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        from kubedl.why.report import lines  # noqa: PLC0415 - texts are made from a diagnosis

        return "\n".join(lines(self))


def judge(evidence: Evidence, rules: Sequence[Rule], *, ask_all: bool = False) -> Diagnosis:
    """Return the cause."""
    found = matches(evidence, rules, ask_all=ask_all)
    causes = ranked(found)
    if not causes:
        return _without_cause(evidence)
    cause, others = causes[0], causes[1:]
    waiting = [
        one
        for one in found
        if one is not cause and one.rule.yields and (one.rule.besides or one.rule.gate < cause.rule.gate)
    ]
    helping = next((one for one in found if one.rule.besides), cause)
    supporting = [*cause.supporting, *(("besides", one.first) for one in waiting)]
    return Diagnosis(
        cause.first,
        cause.rule.id,
        cause.sure.name.lower(),
        True,
        supporting,
        helping.tries,
        [*others, *(one for one in found if one not in causes)],
        dict(evidence.denied),
    )


def matches(evidence: Evidence, rules: Sequence[Rule], *, ask_all: bool = False) -> list[Found]:
    """Return the rules that speak, in the order of gates. It ends at the first certain cause."""
    found: list[Found] = []
    values = common_values(evidence)
    for gate in Gate:
        asked = [rule for rule in rules if rule.gate is gate and _is_asked(rule, evidence)]
        found += [
            Found(rule, match, values | dict(match.values))
            for rule in asked
            if (match := rule.when(evidence)) is not None
        ]
        certain = any(one.sure is Sure.CERTAIN and not one.rule.yields for one in found)
        if certain and gate < TOGETHER and not ask_all:
            break
    return found


def ranked(found: Sequence[Found]) -> list[Found]:
    """Return the causes, the best first, without their consequences."""
    causes = [one for one in found if not any(_explains(other.rule, one.rule) for other in found)]
    stronger = [one for one in causes if not one.rule.yields]
    causes = stronger or causes
    return sorted(causes, key=lambda one: (one.sure is Sure.GUESS, one.rule.gate, one.sure, -one.match.pods))


def common_values(evidence: Evidence) -> dict[str, str]:
    """Return values that every text may use."""
    return {
        "name": evidence.name,
        "ns": evidence.namespace,
        "kind": evidence.kind,
        "resource": evidence.kind.lower(),
        "age": evidence.ago(evidence.metadata.get("creationTimestamp")),
    }


def _is_asked(rule: Rule, evidence: Evidence) -> bool:
    if evidence.past and evidence.state != "Failed":
        return rule.besides  # what pods of a deleted job say is that it was deleted
    return evidence.subject in rule.about and rule.over in (None, evidence.is_over)


def _explains(rule: Rule, other: Rule) -> bool:
    """Return whether the other one is a consequence."""
    if rule is other:
        return False
    return any(other.id == begin or (begin.endswith(".") and other.id.startswith(begin)) for begin in rule.explains)


def _without_cause(evidence: Evidence) -> Diagnosis:
    well = _well(evidence)
    if well:
        return Diagnosis(well, denied=dict(evidence.denied))
    said = evidence.status.get("message") or evidence.condition("PodsReady").get("message")
    lines = [("says", str(said)[:1000])] if said else []
    warnings = [one for one in evidence.events if one.get("type") == "Warning"][-LAST_WARNINGS:]
    lines += [
        (text_of(one, "involvedObject", "name"), f"{one.get('reason')}: {one.get('message')}") for one in warnings
    ]
    state = evidence.state or "no state yet"
    return Diagnosis(
        f"I cannot tell why {evidence.name} is as it is ({state}).",
        is_known=False,
        supporting=[(label, " ".join(text.split())[:1000]) for label, text in lines],
        tries=[
            Try(
                f"kubedl why {shlex.quote(evidence.name)} -o evidence > {shlex.quote(f'{evidence.name}.json')}",
                "what was seen, to send with a report",
            )
        ],
        denied=dict(evidence.denied),
    )


def _well(evidence: Evidence) -> str:
    """Return that nothing holds it up; empty if something may."""
    if evidence.subject == "job":
        return _well_job(evidence)
    ready = evidence.condition("Ready")
    if ready.get("status") != "True":
        return ""
    since = evidence.ago(ready.get("lastTransitionTime"))
    return f"Nothing holds it up: {evidence.name} has been ready for {since or 'some time'}."


def _well_job(evidence: Evidence) -> str:
    if evidence.state == "Succeeded":
        ended = evidence.ago(evidence.status.get("completionTime"))
        return f"Nothing is wrong: it succeeded {ended} ago." if ended else "Nothing is wrong: it succeeded."
    ready, _, wanted = text_of(evidence.status, "ready").partition("/")
    if evidence.state != "Running" or not (ready.isdecimal() and wanted.isdecimal()):
        return ""
    roles = part_of(evidence.status, "replicaStatuses").values()
    done = sum(int(text_of(role, "succeeded") or 0) for role in roles)
    if int(ready) + done < int(wanted):
        return ""
    running = evidence.ago(evidence.condition("Running").get("lastTransitionTime"))
    ended = f"; {done} of them have ended well" if done else ""
    return (
        f"Nothing holds it up: {int(ready) + done} of {wanted} replicas have run for {running or 'some time'}{ended}."
    )
