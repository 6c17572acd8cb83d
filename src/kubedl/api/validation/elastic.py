"""CEL rules of `elastic`: sizes in their bounds, and nothing beside it that does not follow a changing size."""

from collections.abc import Sequence

from kubedl.schema.structural import Rule


def elastic_rules(
    replicas_field: str, role: str, kind: str, *, in_place: bool, fields: Sequence[str] = ("elastic",)
) -> tuple[Rule, ...]:
    """Return the rules of a kind whose `role` can be resized while a job runs; of any other kind if it is empty.

    A job is elastic if it has one of the `fields`.
    """
    if not role:
        message = f"{kind} cannot be resized while it runs; remove the field"
        return (Rule("!has(self.elastic)", message, field=".elastic", at="spec", reason="FieldValueForbidden"),)
    modes = () if in_place else (_restarts(kind),)
    return (_order(), _bounds(replicas_field, role), *map(_fixed, fields), *_alone(fields), *modes)


def may_differ(role: str, fields: Sequence[str] = ("elastic",)) -> str:
    """Return the condition under which the replicas of a role may change while the job runs."""
    elastic = " || ".join(f"has(self.{field}) && has(oldSelf.{field})" for field in fields)
    return f"({elastic}) && role.lowerAscii() == '{role.lower()}'"


def _order() -> Rule:
    return Rule(
        "self.minReplicas <= self.maxReplicas",
        "minReplicas may not be greater than maxReplicas",
        field=".minReplicas",
        at="spec.elastic",
    )


def _bounds(replicas_field: str, role: str) -> Rule:
    number, bounds = f"self.{replicas_field}[role].replicas", "self.elastic"
    within = f"{number} >= {bounds}.minReplicas && {number} <= {bounds}.maxReplicas"
    message = f"an elastic job has a role {role} with minReplicas to maxReplicas replicas"
    return Rule(
        f"!has(self.elastic) || self.{replicas_field}.exists(role, role.lowerAscii() == '{role.lower()}' && {within})",
        message,
        field=f".{replicas_field}",
        at="spec",
        message_expression=f"'{message}, which are %d to %d'.format([{bounds}.minReplicas, {bounds}.maxReplicas])",
    )


def _restarts(kind: str) -> Rule:
    return Rule(
        "!has(self.resize) || self.resize == 'Restart'",
        f"the replicas of a {kind} cannot stay while it is resized: use Restart, or remove the field",
        field=".resize",
        at="spec.elastic",
        reason="FieldValueForbidden",
    )


def _fixed(field: str) -> Rule:
    has, had = f"has(self.{field})", f"has(oldSelf.{field})"
    return Rule(
        f"self.suspend || oldSelf.suspend || {has} == {had} && (!{has} || self.{field} == oldSelf.{field})",
        "running pods know these bounds: suspend the job to change them",
        field=f".{field}",
        at="spec",
        reason="FieldValueForbidden",
    )


def _alone(fields: Sequence[str]) -> tuple[Rule, ...]:
    """Rules of fields that fix the number of pods, or what they know of each other."""
    policy, fixed = "self.schedulingPolicy", " && ".join(f"!has(self.{field})" for field in fields)
    gang = f"!has({policy}.minAvailable) && (!has({policy}.gangScheduler) || {policy}.gangScheduler in ['', 'none'])"
    cases = (
        (
            ".restartScope",
            "self.restartScope == 'Job'",
            "an elastic job has restartScope Job: after a failure all restart",
        ),
        (".networkMode", "self.networkMode == 'Pod'", "an elastic job cannot use the host network; remove the field"),
        (".schedulingPolicy", gang, "an elastic job cannot be a gang; remove minAvailable and gangScheduler"),
    )
    return tuple(
        Rule(
            f"{fixed} || !has(self{field}) || {holds}",
            message,
            field=field,
            at="spec",
            reason="FieldValueForbidden",
        )
        for field, holds, message in cases
    )
