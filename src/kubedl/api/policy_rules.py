"""What the API server refuses in the policies of a role or job, because it could not be honoured or means nothing."""

from collections.abc import Sequence

from kubedl.schema.structural import Rule

WORKER = "Worker"


def exit_code_rules() -> tuple[Rule, ...]:
    """Of `exitCodes`: a code that no failed process can have, or a range that holds none, is a slip."""
    numbers = "text.split('-').map(part, int(part))"
    good = (
        "text.matches('^[1-9][0-9]{0,2}(-[1-9][0-9]{0,2})?$') "
        f"&& {numbers}.isSorted() && {numbers}.all(code, code <= 255)"
    )
    sentence = 'exit codes of failures go from 1 to 255, alone or as a range upwards, as in "137" or "200-255"'
    return (
        Rule(
            f"self.retryable.all(text, {good})",
            sentence,
            field=".retryable",
            message_expression=f"'{sentence}; \"%s\" is neither'.format([self.retryable.filter(text, !({good}))[0]])",
        ),
    )


def restart_rules() -> tuple[Rule, ...]:
    """Of a role: only under ExitCode does the engine look at how a container ended."""
    return tuple(
        Rule(
            f"!has(self.{field}) || has(self.restartPolicy) && self.restartPolicy == 'ExitCode'",
            f"{field} holds under restartPolicy ExitCode only; write that beside it",
            field=f".{field}",
        )
        for field in ("exitCodes", "oomPolicy")
    )


def success_rule(replicas_field: str, roles: Sequence[str]) -> Rule:
    """Of a job: whoever is to decide must be there."""
    asked = "!has(self.successPolicy) || "
    if WORKER not in roles:
        return Rule(
            f"{asked}!(self.successPolicy in ['AllWorkers', 'AnyWorker'])",
            f'this kind has no role {WORKER}; take "" or AllReplicas',
            field=".successPolicy",
            at="spec",
        )
    there = f"self.{replicas_field}.exists(role, role.lowerAscii() == '{WORKER.lower()}')"
    return Rule(
        f"{asked}self.successPolicy != 'AnyWorker' || {there}",
        f"AnyWorker needs a role {WORKER}, which this job does not have",
        field=".successPolicy",
        at="spec",
    )
