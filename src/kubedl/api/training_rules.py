"""What the API server refuses in a training job before any of our code sees it, and what it shows of one.

Each rule names the field and what to do. Roles are told apart without regard to case, as people write `worker` and
`Worker`. A rule reads only what is declared and bounded in the schema; the API server refuses a definition whose rules
could cost too much.

Rules are evaluated again with every write of a status, so each first asks what settles the common case.
"""

from collections.abc import Sequence

from kubedl.api.training_addons import CHOSEN_ONCE, LONGEST_BOARD_NAME
from kubedl.schema.crd import Column, Rule

LONGEST_NAME = 63  # of a DNS label: a pod's name is its host name too
NOT_YET = {
    "minAvailable": "gang scheduling",
    "priority": "a priority by number (priorityClassName works)",
    "queue": "a queue",
}


def job_rules(replicas_field: str, roles: Sequence[str], container: str) -> tuple[Rule, ...]:
    """The rules of a kind whose roles stand in `spec.<replicas_field>`, and whose work is done in `container`.

    The field must be bounded by `Meta(max_length=…)`.
    """
    return (
        *_name_rules(replicas_field),
        *_role_rules(f"spec.{replicas_field}", roles, container),
        *_dependency_rules(f"spec.{replicas_field}", roles),
        _resize_rule(replicas_field),
        _code_rule(),
        _board_rule(),
        *_rules_of_what_is_to_come(),
    )


def job_columns() -> tuple[Column, ...]:
    """What `kubectl get` prints of a job; the last two with `-o wide`."""
    return (
        Column("State", "string", ".status.state"),
        Column("Age", "date", ".metadata.creationTimestamp"),
        Column("Max-Lifetime", "integer", ".spec.activeDeadlineSeconds", description="Seconds that the job may run."),
        Column("Model-Version", "string", ".status.modelVersionName"),
        Column("Ready", "string", ".status.ready", priority=1, description="Pods that are ready, of those wanted."),
        Column("Queue", "string", ".spec.schedulingPolicy.queue", priority=1),
    )


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


def _role_rules(place: str, roles: Sequence[str], container: str) -> tuple[Rule, ...]:
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
        Rule(
            f"self.exists(item, item.name == '{container}')",
            f"a container named {container}, which does the work of the role",
            at=f"{place}.*.template.spec.containers",
            reason="FieldValueRequired",
        ),
    )


def _dependency_rules(place: str, roles: Sequence[str]) -> tuple[Rule, ...]:
    names = ", ".join(roles)
    missing = "!(item.upstream in self) && !self.exists(other, other.lowerAscii() == item.upstream.lowerAscii())"
    waits = "has(self[role].dependsOn) && self[role].dependsOn.exists(item, {})"
    for_nobody = waits.format(missing)
    for_itself = waits.format("item.upstream.lowerAscii() == role.lowerAscii()")
    return (
        Rule(
            f"!self.exists(role, {for_nobody})",
            f"dependsOn names a role that this job does not have; roles are {names}",
            at=place,
            message_expression=(
                f"self.filter(role, {for_nobody}).map(role, "
                f"'%s depends on %s, a role that this job does not have; roles are {names}'"
                f".format([role, self[role].dependsOn.filter(item, {missing})[0].upstream]))[0]"
            ),
        ),
        Rule(
            f"!self.exists(role, {for_itself})",
            "a role cannot depend on itself",
            at=place,
            message_expression=f"self.filter(role, {for_itself})[0] + ' depends on itself'",
        ),
        Rule(
            _acyclic(len(roles)),
            "dependsOn goes in a circle: these roles would wait for each other for ever",
            at=place,
        ),
    )


def _acyclic(roles: int) -> str:
    """Roles that wait for nobody start; then those that wait only for these; and so on until all but one must have.

    Without a circle every round starts at least one more role, so after all rounds at most one is left; of a circle at
    least two are always left. A list of one item is CEL's way to name a value.
    """
    started = "['']"
    expression = "size({}) + 1 >= size(self)"
    text = "self.filter(role, has(self[role].dependsOn)).size() < 2 || "
    for number in range(1, roles):
        free = (
            "self.filter(role, !has(self[role].dependsOn) || self[role].dependsOn.all(item, "
            f"item.upstream.lowerAscii() in {started} || item.upstream.lowerAscii() == role.lowerAscii()))"
            ".map(role, role.lowerAscii())"
        )
        text += f"[{free}].all(round{number}, "
        started = f"round{number}"
    return text + expression.format(started) + ")" * (roles - 1)


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


def _rules_of_what_is_to_come() -> tuple[Rule, ...]:
    """Wishes that would be ignored are refused instead: nobody shall believe that they hold."""
    return tuple(
        Rule(
            f"!has(self.{field})" + (f" || self.{field} == ''" if field == "queue" else ""),
            f"{field} cannot be honoured yet: this version does not know {what}; remove the field",
            field=f".{field}",
            at="spec.schedulingPolicy",
            reason="FieldValueForbidden",
        )
        for field, what in NOT_YET.items()
    )
