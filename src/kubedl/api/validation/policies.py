"""CEL rules for policies of roles and jobs: reject values that are meaningless or not supported."""

from collections.abc import Sequence

from kubedl.schema.structural import Rule

WORKER = "Worker"


def exit_code_rules() -> tuple[Rule, ...]:
    """Rules of `exitCodes`: reject codes that no failed process can have, and empty ranges."""
    numbers = "text.split('-').map(part, int(part))"
    good = (
        "text.matches('^[1-9][0-9]{0,2}(-[1-9][0-9]{0,2})?$') "
        f"&& {numbers}.isSorted() && {numbers}.all(code, code <= 255)"
    )
    sentence = 'exit codes of failures are 1 to 255, single or as an ascending range, as in "137" or "200-255"'
    return (
        Rule(
            f"self.retryable.all(text, {good})",
            sentence,
            field=".retryable",
            message_expression=f"'{sentence}; \"%s\" is invalid'.format([self.retryable.filter(text, !({good}))[0]])",
        ),
    )


def restart_rules() -> tuple[Rule, ...]:
    """Rules of a role: `exitCodes` and `oomPolicy` require restartPolicy ExitCode."""
    return tuple(
        Rule(
            f"!has(self.{field}) || has(self.restartPolicy) && self.restartPolicy == 'ExitCode'",
            f"{field} requires restartPolicy ExitCode; set both",
            field=f".{field}",
        )
        for field in ("exitCodes", "oomPolicy")
    )


def success_rule(replicas_field: str, roles: Sequence[str]) -> Rule:
    """Rule of a job: the role that decides about success must exist."""
    asked = "!has(self.successPolicy) || "
    if WORKER not in roles:
        return Rule(
            f"{asked}!(self.successPolicy in ['AllWorkers', 'AnyWorker'])",
            f'this kind has no role {WORKER}; use "" or AllReplicas',
            field=".successPolicy",
            at="spec",
        )
    there = f"self.{replicas_field}.exists(role, role.lowerAscii() == '{WORKER.lower()}')"
    return Rule(
        f"{asked}self.successPolicy != 'AnyWorker' || {there}",
        f"AnyWorker requires a role {WORKER}, which this job does not have",
        field=".successPolicy",
        at="spec",
    )


def network_rules(is_supported: bool, kind: str) -> tuple[Rule, ...]:
    """Rules of `networkMode`: one mode for all pods of a job, and only where the framework can be told its port."""
    has, had = "has(self.networkMode)", "has(oldSelf.networkMode)"
    fixed = Rule(
        f"self.suspend || oldSelf.suspend || {has} == {had} && (!{has} || self.networkMode == oldSelf.networkMode)",
        "suspend the job to change its networkMode",
        field=".networkMode",
        at="spec",
        reason="FieldValueForbidden",
    )
    if is_supported:
        return (fixed,)
    return (
        fixed,
        Rule(
            f"!{has} || self.networkMode == 'Pod'",
            f"{kind} does not support the host network; remove the field",
            field=".networkMode",
            at="spec",
            reason="FieldValueForbidden",
        ),
    )
