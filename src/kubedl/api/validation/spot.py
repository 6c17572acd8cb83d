"""CEL rules of `spot`: nothing in it without effect, and nothing beside it that chooses nodes or a size as well."""

from kubedl.schema.structural import Reason, Rule

POOL_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
# A date-time may have a year, an offset or a second that no calendar has; `timestamp` knows the days of each month.
DATE = (
    r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?"
    r"(Z|[+-](0[0-9]|1[0-4]):(00|15|30|45))$"
)
FORBIDDEN: Reason = "FieldValueForbidden"
WITH_DEADLINE = "(has(self.deadline) || has(self.deadlineSeconds))"


def spot_rules() -> tuple[Rule, ...]:
    """Return the rules of the field itself."""
    return (
        Rule(
            f"self.pools.all(name, name.matches(r'{POOL_NAME}'))",
            "the name of a pool has lower-case letters, digits and '-'",
            field=".pools",
        ),
        Rule(
            f"!has(self.deadline) || self.deadline.matches(r'{DATE}') && timestamp(self.deadline).getFullYear() > 1999",
            "a date of this century with seconds and a zone, for example 2026-12-01T08:00:00Z",
            field=".deadline",
        ),
        Rule(
            "!has(self.deadline) || !has(self.deadlineSeconds)",
            "deadline and deadlineSeconds both say when the job has to be done; remove one of them",
            field=".deadlineSeconds",
            reason=FORBIDDEN,
        ),
        Rule(
            f"!{WITH_DEADLINE} || has(self.work)",
            "a deadline needs work.seconds: how long the training takes with all replicas",
            field=".work",
            reason="FieldValueRequired",
        ),
        Rule(
            f"!has(self.work) || {WITH_DEADLINE}",
            "work has an effect with deadline or deadlineSeconds only; set one of them, or remove it",
            field=".work",
            reason=FORBIDDEN,
        ),
        Rule(
            "!has(self.onMaxWait) || has(self.maxWaitSeconds)",
            "onMaxWait has an effect with maxWaitSeconds only; set it, or remove onMaxWait",
            field=".onMaxWait",
            reason=FORBIDDEN,
        ),
    )


def spot_job_rules(replicas_field: str, kind: str, *, in_place: bool, has_policy: bool) -> tuple[Rule, ...]:
    """Return the rules of a kind; `in_place` says whether its replicas can come and go while the others train."""
    if not in_place:
        message = f"the replicas of a {kind} cannot come and go while it trains; remove the field"
        return (_rule("!has(self.spot)", message, ".spot"),)
    policy = "elasticPolicy and spot cannot be used together: write the bounds as elastic, or remove spot"
    return (
        *((_rule("!has(self.spot) || !has(self.elasticPolicy)", policy, ".spot"),) if has_policy else ()),
        Rule(
            "!has(self.spot) || has(self.elastic)" + (" || has(self.elasticPolicy)" if has_policy else ""),
            "a job on spot nodes is elastic: set elastic.minReplicas and elastic.maxReplicas",
            field=".elastic",
            at="spec",
            reason="FieldValueRequired",
        ),
        _rule(
            "!has(self.spot) || !has(self.elastic) || !has(self.elastic.resize) || self.elastic.resize == 'InPlace'",
            "a job that restarts to be resized cannot train with some of its replicas: remove resize, or spot",
            ".spot",
        ),
        _checkpoint(),
        *_alone(replicas_field),
        *_fixed(),
    )


def _checkpoint() -> Rule:
    deadline = "(has(self.spot.deadline) || has(self.spot.deadlineSeconds))"
    return Rule(
        f"!has(self.spot) || !{deadline} || !has(self.elastic) || has(self.elastic.checkpoint)",
        "a deadline needs elastic.checkpoint: progress is what the program reports there",
        field=".elastic.checkpoint",
        at="spec",
        reason="FieldValueRequired",
    )


def _alone(replicas_field: str) -> tuple[Rule, ...]:
    """Rules of fields that choose nodes, too."""
    specs = f"self.{replicas_field}"
    pools = "has({0}.placement) && has({0}.placement.nodePools) && size({0}.placement.nodePools) > 0"
    of_roles = f"{specs}.exists(role, {pools.format(f'{specs}[role]')})"
    return (
        _rule(
            f"!has(self.spot) || !({pools.format('self')}) && !{of_roles}",
            "nodePools and spot both choose the nodes of the pods: remove nodePools, or spot",
            ".spot",
        ),
        _rule(
            f"!has(self.spot) || !{specs}.exists(role, has({specs}[role].spotReplicaSpec))",
            "spotReplicaSpec and spot both say which replicas are on spot nodes: remove one of them",
            ".spot",
        ),
    )


def _fixed() -> tuple[Rule, ...]:
    """Pods that run are in pools: all else may be edited at any time."""
    off, has, had = "self.suspend || oldSelf.suspend", "has(self.spot)", "has(oldSelf.spot)"
    least = "self.spot.minOnDemand == oldSelf.spot.minOnDemand"
    return (
        _rule(f"{off} || {has} == {had}", "suspend the job to add or remove spot", ".spot"),
        _rule(
            f"{off} || !{has} || !{had} || self.spot.pools == oldSelf.spot.pools && {least}",
            "running pods are in these pools: suspend the job to change pools and minOnDemand",
            ".spot.pools",
        ),
    )


def _rule(expression: str, message: str, field: str) -> Rule:
    return Rule(expression, message, field=field, at="spec", reason=FORBIDDEN)
