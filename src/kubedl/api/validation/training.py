"""CEL rules and printer columns of training jobs.

Each message says what to do. Role names are compared case-insensitively (`worker`, `Worker`). A rule reads only fields
that the schema declares and bounds: the API server rejects a CRD whose rules may cost too much.

Rules are evaluated on every status update as well, so each checks the common case first.
"""

from collections.abc import Mapping, Sequence

from kubedl.api.validation.addons import addon_rules
from kubedl.api.validation.depends_on import Order, depends_on_rules
from kubedl.api.validation.policies import success_rule
from kubedl.schema.crd import Column, Rule

NO_ORDER: Order = {}
LONGEST_VARIABLE = 131_072  # bytes: Linux's limit for one environment variable
SHORTEST_ADDRESS = 17  # without the names of job and role: "--1000..x.svc:80", in quotes and with a comma
LONGEST_NAME = 63  # of a DNS label: the name of a pod is its host name
IN_SCHEDULING = {
    "priority": "numeric priority; use priorityClassName",
}
SCHEDULED_ONCE = "a job either runs once or at the times of a schedule, which cannot be changed; create a new job"


def job_rules(
    replicas_field: str,
    roles: Sequence[str],
    container: str | None,
    order: Order = NO_ORDER,
    container_field: str = "",
    may_differ: str = "",
) -> tuple[Rule, ...]:
    """Return the rules of a kind with the roles in `spec.<replicas_field>` and the main container `container`.

    `order` is the default `dependsOn` of each role. The field must be bounded by `Meta(max_length=…)`. If `container`
    is None, any container will do; `spec.<container_field>`, if given, names it and has a default. `may_differ`, if
    given, is a condition under which the replicas of `role` may change while the job runs.
    """
    return (
        *_name_rules(replicas_field),
        *_role_rules(f"spec.{replicas_field}", roles),
        *_container_rules(replicas_field, container, container_field),
        *depends_on_rules(f"spec.{replicas_field}", roles, order),
        success_rule(replicas_field, roles),
        _resize_rule(replicas_field, may_differ),
        *addon_rules(),
        _managed_by_rule(),
        *scheduling_rules("spec.schedulingPolicy"),
        _gang_rule(replicas_field),
        _placement_rule(replicas_field),
        schedule_rule(),
    )


def number_rules(replicas_field: str, required: Sequence[str], bounds: Mapping[str, int]) -> tuple[Rule, ...]:
    """Return the rules of a kind that requires some roles, or limits their number of replicas."""
    place, replicas = f"spec.{replicas_field}", "role.lowerAscii() == '{}' && self[role].replicas"
    needed = (
        Rule(
            f"self.exists(role, {replicas.format(role.lower())} > 0)",
            f"a job of this kind has at least one {role}",
            at=place,
            reason="FieldValueRequired",
        )
        for role in required
    )
    bounded = (
        Rule(
            f"!self.exists(role, {replicas.format(role.lower())} > {most})",
            f"a job of this kind has at most {'one' if most == 1 else most} {role}",
            at=place,
        )
        for role, most in bounds.items()
    )
    return (*needed, *bounded)


def cluster_rule(replicas_field: str, variable: str, left_out: str = "") -> Rule:
    """Rule of a kind with an environment variable that has the address of every replica, except those of one role.

    CEL rules do not know the namespace, which is part of each address. They assume the shortest one; the operator
    checks the exact size.
    """
    specs = f"self.spec.{replicas_field}"
    address = f"(2 * size(self.metadata.name) + size(role) + {SHORTEST_ADDRESS})"
    number = (
        f"(role.lowerAscii() == '{left_out}' ? 0 : {specs}[role].replicas)" if left_out else f"{specs}[role].replicas"
    )
    total = f"{specs}.map(role, {number} * {address}).sum()"
    limit = (
        f"{variable} has the address of every replica, and an environment variable may have {LONGEST_VARIABLE} bytes"
    )
    return Rule(
        f"size({specs}) == 0 || {total} <= {LONGEST_VARIABLE}",
        f"{limit}; use fewer replicas or a shorter name",
        field=f".spec.{replicas_field}",
        message_expression=f"'{limit}: this job needs at least %d; use fewer replicas or a shorter "
        f"name'.format([{total}])",
    )


def job_columns() -> tuple[Column, ...]:
    """Return the columns of `kubectl get`; the last ones appear with `-o wide`."""
    return (
        Column("State", "string", ".status.state", description="The phase of the job."),
        Column("Ready", "string", ".status.ready", description="Ready pods out of desired pods."),
        Column(
            "Restarts",
            "integer",
            ".status.restarts",
            description="The number of replaced pods and restarted containers.",
        ),
        Column("Reason", "string", ".status.message", description="Why the job waits, or how it ended."),
        Column("Model-Version", "string", ".status.modelVersionName", description="The ModelVersion that it created."),
        Column("Age", "date", ".metadata.creationTimestamp", description="How long ago the job was created."),
        Column(
            "Max-Lifetime",
            "integer",
            ".status.activeDeadlineSeconds",  # an MPIJob has two fields for it
            priority=1,
            description="Seconds that the job may be active (activeDeadlineSeconds).",
        ),
        Column("GPUs", "integer", ".status.gpus", priority=1, description="The GPUs of all replicas."),
        Column(
            "Queue",
            "string",
            ".status.queueName",  # a label or a field can name it
            priority=1,
            description="The LocalQueue of Kueue that the job waits in.",
        ),
    )


def scheduling_rules(place: str) -> tuple[Rule, ...]:
    """Return the rules of the SchedulingPolicy at `place`."""
    return _not_yet(place, IN_SCHEDULING)


def _name_rules(replicas_field: str) -> tuple[Rule, ...]:
    """Rules of the job's name, which is also the name of its Service and the prefix of its pods' names."""
    specs = f"self.spec.{replicas_field}"
    replicas = f"{specs}[role].replicas"
    suffix = f"{specs}.map(role, size(role) + 2 + size(string({replicas} > 0 ? {replicas} - 1 : 0))).max()"
    limit = f"pods are named {{job}}-{{role}}-{{index}}, which may have at most {LONGEST_NAME} characters"
    return (
        Rule(
            "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
            "the name of a job is also the name of its Service: lower-case letters, digits and '-', beginning with a "
            "letter and ending with a letter or digit",
            field=".metadata.name",
        ),
        Rule(
            f"size({specs}) == 0 || size(self.metadata.name) + {suffix} <= {LONGEST_NAME}",
            f"{limit}; use a shorter name",
            field=".metadata.name",
            message_expression=f"'{limit}: the name of this job may have %d, but has %d'"
            f".format([{LONGEST_NAME} - {suffix}, size(self.metadata.name)])",
        ),
    )


def _role_rules(place: str, roles: Sequence[str]) -> tuple[Rule, ...]:
    names = ", ".join(roles)
    as_declared = f"role in {list(roles)!r}"
    known = f"role.lowerAscii() in {[role.lower() for role in roles]!r}"
    twice = "!self.exists_one(other, other.lowerAscii() == role.lowerAscii())"
    return (
        Rule("size(self) > 0", f"a job has at least one role: {names}", at=place, reason="FieldValueRequired"),
        Rule(
            f"self.all(role, {as_declared} || {known})",
            f"valid roles are {names}",
            at=place,
            message_expression=f"self.filter(role, !({known}))[0] + ' is not a role of this kind; valid roles are "
            f"{names}'",
        ),
        Rule(
            f"self.all(role, {as_declared}) || !self.exists(role, {twice})",
            "a role appears twice, in upper and lower case",
            at=place,
            message_expression="'role %s appears twice, in upper and lower case'.format([self.filter(role, "
            f"{twice})[0].lowerAscii()])",
        ),
    )


def _container_rules(replicas_field: str, container: str | None, container_field: str) -> tuple[Rule, ...]:
    if container is None:
        return ()
    missing = f"a container named {container} is required; it is the main container of the role"
    if not container_field:
        at = f"spec.{replicas_field}.*.template.spec.containers"
        return (Rule(f"self.exists(item, item.name == '{container}')", missing, at=at, reason="FieldValueRequired"),)
    specs = f"self.{replicas_field}"
    present = f"{specs}[role].template.spec.containers.exists(item, item.name == self.{container_field})"
    return (
        Rule(
            f"{specs}.all(role, {present})",
            f"every role needs a container with the name in {container_field}, its main container",
            field=f".{replicas_field}",
            at="spec",
            message_expression="'a container named %s (the main container) is missing in "
            f"%s'.format([self.{container_field}, {specs}.filter(role, !{present})[0]])",
            reason="FieldValueRequired",
        ),
    )


def _resize_rule(replicas_field: str, may_differ: str) -> Rule:
    new, old = f"self.{replicas_field}", f"oldSelf.{replicas_field}"
    same = f"role in {old} && {new}[role].replicas == {old}[role].replicas"
    if may_differ:
        same = f"role in {old} && ({new}[role].replicas == {old}[role].replicas || {may_differ})"
    return Rule(
        f"self.suspend || oldSelf.suspend || size({new}) == size({old}) && {new}.all(role, {same})",
        "suspend the job to resize it",
        field=f".{replicas_field}",
        at="spec",
        reason="FieldValueForbidden",
    )


def _gang_rule(replicas_field: str) -> Rule:
    policy, specs = "self.schedulingPolicy", f"self.{replicas_field}"
    total = f"{specs}.map(role, {specs}[role].replicas).sum()"
    return Rule(
        f"!has({policy}) || !has({policy}.minAvailable) || {policy}.minAvailable <= {total}",
        "the job has fewer pods than minAvailable and would never start",
        field=".schedulingPolicy.minAvailable",
        at="spec",
    )


def _placement_rule(replicas_field: str) -> Rule:
    return Rule(
        f"!has(self.placement) || self.{replicas_field}.exists(role, !has(self.{replicas_field}[role].placement))",
        "every role has a placement of its own, so this one is never used; remove it",
        field=".placement",
        at="spec",
        reason="FieldValueForbidden",
    )


def _managed_by_rule() -> Rule:
    same = "has(self.managedBy) == has(oldSelf.managedBy)"
    return Rule(
        f"{same} && (!has(self.managedBy) || self.managedBy == oldSelf.managedBy)",
        "immutable: who runs a job is chosen when it is created; create a new job",
        field=".managedBy",
        at="spec",
        reason="FieldValueForbidden",
    )


def schedule_rule(parent: str = "") -> Rule:
    """Return the rule of the CronPolicy in the spec, or in the field `parent` of the spec."""
    before, now = (
        f"(has({spec}.{parent}) && has({spec}.{parent}.cronPolicy))" if parent else f"has({spec}.cronPolicy)"
        for spec in ("oldSelf", "self")
    )
    field = f".{parent}.cronPolicy" if parent else ".cronPolicy"
    return Rule(f"{now} == {before}", SCHEDULED_ONCE, field, "spec", reason="FieldValueForbidden")


def _not_yet(place: str, fields: Mapping[str, str]) -> tuple[Rule, ...]:
    """Reject fields that are not supported yet, rather than ignoring them silently."""
    return tuple(
        Rule(
            f"!has(self.{field})" + (f" || self.{field} == ''" if field == "queue" else ""),
            f"{field} is not supported yet ({what}); remove the field",
            field=f".{field}",
            at=place,
            reason="FieldValueForbidden",
        )
        for field, what in fields.items()
    )
