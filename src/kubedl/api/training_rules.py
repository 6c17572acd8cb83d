"""What the API server refuses in a training job before any of our code sees it, and what it shows of one.

Each rule names the field and what to do. Roles are told apart without regard to case, as people write `worker` and
`Worker`. A rule reads only what is declared and bounded in the schema; the API server refuses a definition whose rules
could cost too much.

Rules are evaluated again with every write of a status, so each first asks what settles the common case.
"""

from collections.abc import Mapping, Sequence

from kubedl.api import cache
from kubedl.api.dependency_rules import Order, dependency_rules
from kubedl.api.policy_rules import success_rule
from kubedl.api.training_addons import CHOSEN_ONCE, LONGEST_BOARD_NAME
from kubedl.schema.crd import Column, Rule

NO_ORDER: Order = {}
LONGEST_VARIABLE = 131_072  # bytes of one variable that Linux starts a process with
SHORTEST_ADDRESS = 17  # beside names of job and role: "--1000..x.svc:80", in quotes and with a comma
LONGEST_NAME = 63  # of a DNS label: a pod's name is its host name too
IN_SCHEDULING = {
    "minAvailable": "gang scheduling",
    "priority": "a priority by number; use priorityClassName",
    "queue": "queues",
}
IN_SPEC = {"cronPolicy": "schedules"}
STORED_ONCE = "where a job's pods write the model is chosen once; make a new job"
IN_ROLE = {"spotReplicaSpec": "spot replicas"}


def job_rules(
    replicas_field: str,
    roles: Sequence[str],
    container: str | None,
    order: Order = NO_ORDER,
    container_field: str = "",
) -> tuple[Rule, ...]:
    """The rules of a kind whose roles stand in `spec.<replicas_field>`, and whose work is done in `container`.

    `order` is whom a role waits for unless the user says otherwise. The field must be bounded by `Meta(max_length=…)`.
    Without a container's name any will do; where `spec.<container_field>` names it, that has a default.
    """
    return (
        *_name_rules(replicas_field),
        *_role_rules(f"spec.{replicas_field}", roles),
        *_container_rules(replicas_field, container, container_field),
        *dependency_rules(f"spec.{replicas_field}", roles, order),
        success_rule(replicas_field, roles),
        _resize_rule(replicas_field),
        _code_rule(),
        _board_rule(),
        *_cache_rules(),
        *_model_rules(),
        *scheduling_rules("spec.schedulingPolicy"),
        *_not_yet("spec", IN_SPEC),
        *_not_yet(f"spec.{replicas_field}.*", IN_ROLE),
    )


def number_rules(replicas_field: str, required: Sequence[str], bounds: Mapping[str, int]) -> tuple[Rule, ...]:
    """The rules of a kind that cannot do without some roles, or can have only so many replicas of them."""
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
    """The rule of a kind whose variable has the address of every replica, but those of one role.

    Nobody tells the API server's rules how long the namespace is: what fits only in a namespace of a shorter name is
    left to the operator, which knows the exact size.
    """
    specs = f"self.spec.{replicas_field}"
    address = f"(2 * size(self.metadata.name) + size(role) + {SHORTEST_ADDRESS})"
    number = (
        f"(role.lowerAscii() == '{left_out}' ? 0 : {specs}[role].replicas)" if left_out else f"{specs}[role].replicas"
    )
    total = f"{specs}.map(role, {number} * {address}).sum()"
    limit = f"{variable} has the address of every replica, and a variable may have {LONGEST_VARIABLE} bytes"
    return Rule(
        f"size({specs}) == 0 || {total} <= {LONGEST_VARIABLE}",
        f"{limit}; take fewer replicas, or a shorter name",
        field=f".spec.{replicas_field}",
        message_expression=f"'{limit}: this job needs at least %d; take fewer replicas, or a shorter name'"
        f".format([{total}])",
    )


def job_columns() -> tuple[Column, ...]:
    """What `kubectl get` prints of a job; the last one with `-o wide`."""
    return (
        Column("State", "string", ".status.state", description="What the job is doing."),
        Column("Ready", "string", ".status.ready", description="Pods that are ready, of those wanted."),
        Column("Restarts", "integer", ".status.restarts", description="Pods replaced and containers restarted."),
        Column("Reason", "string", ".status.message", description="Why the job waits, or how it ended."),
        Column("Model-Version", "string", ".status.modelVersionName", description="The ModelVersion that it created."),
        Column("Age", "date", ".metadata.creationTimestamp", description="How long ago the job was created."),
        Column(
            "Max-Lifetime",
            "integer",
            ".status.activeDeadlineSeconds",  # an MPIJob has it in one of two places of its spec
            priority=1,
            description="Seconds that the job may run (activeDeadlineSeconds).",
        ),
    )


def scheduling_rules(place: str) -> tuple[Rule, ...]:
    """The rules of a SchedulingPolicy that stands at `place`."""
    return _not_yet(place, IN_SCHEDULING)


def _name_rules(replicas_field: str) -> tuple[Rule, ...]:
    """The job's name is its Service's name and the beginning of its pods' names."""
    specs = f"self.spec.{replicas_field}"
    replicas = f"{specs}[role].replicas"
    suffix = f"{specs}.map(role, size(role) + 2 + size(string({replicas} > 0 ? {replicas} - 1 : 0))).max()"
    limit = f"pods are named {{job}}-{{role}}-{{index}}, which may have at most {LONGEST_NAME} characters"
    return (
        Rule(
            "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
            "the name of a job is the name of its Service too: lower-case letters, digits and '-', "
            "beginning with a letter and ending with a letter or digit",
            field=".metadata.name",
        ),
        Rule(
            f"size({specs}) == 0 || size(self.metadata.name) + {suffix} <= {LONGEST_NAME}",
            f"{limit}; take a shorter name",
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
            f"roles are {names}",
            at=place,
            message_expression=f"self.filter(role, !({known}))[0] + ' is no role of this kind; roles are {names}'",
        ),
        Rule(
            f"self.all(role, {as_declared}) || !self.exists(role, {twice})",
            "a role is there twice, in upper and lower case",
            at=place,
            message_expression=f"'role %s is there twice, in upper and lower case'"
            f".format([self.filter(role, {twice})[0].lowerAscii()])",
        ),
    )


def _container_rules(replicas_field: str, container: str | None, container_field: str) -> tuple[Rule, ...]:
    if container is None:
        return ()
    missing = f"a container named {container}, which does the work of the role"
    if not container_field:
        at = f"spec.{replicas_field}.*.template.spec.containers"
        return (Rule(f"self.exists(item, item.name == '{container}')", missing, at=at, reason="FieldValueRequired"),)
    specs = f"self.{replicas_field}"
    present = f"{specs}[role].template.spec.containers.exists(item, item.name == self.{container_field})"
    return (
        Rule(
            f"{specs}.all(role, {present})",
            f"every role has the container that {container_field} names, which does its work",
            field=f".{replicas_field}",
            at="spec",
            message_expression=f"'a container named %s, which does the work of the role, is missing in %s'"
            f".format([self.{container_field}, {specs}.filter(role, !{present})[0]])",
            reason="FieldValueRequired",
        ),
    )


def _resize_rule(replicas_field: str) -> Rule:
    new, old = f"self.{replicas_field}", f"oldSelf.{replicas_field}"
    same = f"role in {old} && {new}[role].replicas == {old}[role].replicas"
    return Rule(
        f"self.suspend || oldSelf.suspend || size({new}) == size({old}) && {new}.all(role, {same})",
        "suspend the job to resize it",
        field=f".{replicas_field}",
        at="spec",
        reason="FieldValueForbidden",
    )


def _code_rule() -> Rule:
    return Rule(
        "has(self.codeSource) == has(oldSelf.codeSource)",
        CHOSEN_ONCE,
        field=".codeSource",
        at="spec",
        reason="FieldValueForbidden",
    )


def _board_rule() -> Rule:
    return Rule(
        f"!has(self.spec.tensorBoard) || size(self.metadata.name) <= {LONGEST_BOARD_NAME}",
        f"the name of a job with a TensorBoard may have at most {LONGEST_BOARD_NAME} characters; take a shorter name",
        field=".metadata.name",
    )


def _cache_rules() -> tuple[Rule, ...]:
    place = "spec.cacheBackend"
    return (
        Rule(f"has(self.name) && self.name.matches(r'{cache.NAME}')", cache.NO_NAME, ".name", at=place),
        Rule(
            f"has(self.mountPath) && self.mountPath.matches(r'{cache.ABSOLUTE}')", cache.NO_PATH, ".mountPath", at=place
        ),
        Rule(
            "!has(self.spec.cacheBackend) || !has(self.spec.cacheBackend.name) || "
            "self.spec.cacheBackend.name != self.metadata.name",
            cache.NAME_OF_JOB,
            field=".spec.cacheBackend.name",
        ),
    )


def _model_rules() -> tuple[Rule, ...]:
    """What every pod of a job mounts is chosen once; the tag may still be changed."""
    there = "has(self.modelVersion) == has(oldSelf.modelVersion)"
    both = "has(self.storage) == has(oldSelf.storage)"
    return (
        Rule(there, STORED_ONCE, ".modelVersion", at="spec", reason="FieldValueForbidden"),
        Rule(
            f"{both} && (!has(self.storage) || self.storage == oldSelf.storage)",
            STORED_ONCE,
            ".storage",
            at="spec.modelVersion",
            reason="FieldValueForbidden",
        ),
    )


def _not_yet(place: str, wishes: Mapping[str, str]) -> tuple[Rule, ...]:
    """Wishes that would be ignored are refused instead: nobody shall believe that they hold."""
    return tuple(
        Rule(
            f"!has(self.{field})" + (f" || self.{field} == ''" if field == "queue" else ""),
            f"{field} is not supported yet ({what}); remove the field",
            field=f".{field}",
            at=place,
            reason="FieldValueForbidden",
        )
        for field, what in wishes.items()
    )
