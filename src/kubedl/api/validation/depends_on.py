"""What the API server refuses in the `dependsOn` of a job's roles: whatever would make a role wait for ever.

A role without a `dependsOn` of its own has the kind's order, which may close a circle with what the user wrote for
another role; so circles are looked for in what holds, not in what is written. CEL has no name for a value but the
variable of a macro: `[value].all(name, …)` and `[value].map(name, …)[0]` read "let name be value in …".
"""

from collections.abc import Mapping, Sequence

from kubedl.schema.structural import Rule

Order = Mapping[str, Sequence[str]]  # role → the roles that it waits for unless the user says otherwise

CIRCLE = "dependsOn has a cycle"
BY_THE_KIND = " (a role without dependsOn follows the order of its kind)"


def depends_on_rules(place: str, roles: Sequence[str], order: Order) -> tuple[Rule, ...]:
    """The rules for roles that stand at `place`. The kind's own order names roles, and must be without a circle."""
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
        *((_circle_rule(place, roles, order),) if len(roles) > 1 else ()),
    )


def _circle_rule(place: str, roles: Sequence[str], order: Order) -> Rule:
    """Reject cycles. The message names the roles in the cycle and those that wait for them, in declaration order.

    The message is made of constants only: the API server assumes the largest size for a joined or looked-up string, and
    rejects the CRD for the cost.
    """
    count = len(roles)
    everybody, started = str(list(range(count))), f"round{count - 1}"
    lets = [("waits", _waits(roles, order)), *_rounds(everybody, count)]
    stuck = " + ".join(f"({number} in {started} ? '' : ' {role},')" for number, role in enumerate(roles))
    why = BY_THE_KIND if any(order.values()) else ""
    return Rule(
        f"!self.exists(role, has(self[role].dependsOn)) || {_let_all(lets, f'size({started}) + 1 >= {count}')}",
        f"{CIRCLE}: these roles would wait for each other forever",
        at=place,
        message_expression=_let(lets, f"'{CIRCLE}:' + {stuck} + ' which would wait forever{why}'"),
    )


def _waits(roles: Sequence[str], order: Order) -> str:
    """For each role the others that it waits for, among those that the job has."""
    lower = [role.lower() for role in roles]
    everybody = list(range(len(roles)))
    # -1 is no role: an empty list has no type of its own in CEL.
    by_kind = [[-1, *(roles.index(upstream) for upstream in order.get(role, ()))] for role in roles]
    return (
        f"{everybody}.map(one, {everybody}.filter(other, one != other "
        f"&& self.exists(role, role.lowerAscii() == {lower}[other]) "
        f"&& self.exists(role, role.lowerAscii() == {lower}[one] && (has(self[role].dependsOn) "
        f"? self[role].dependsOn.exists(item, item.upstream.lowerAscii() == {lower}[other]) "
        f": other in {by_kind}[one]))))"
    )


def _rounds(everybody: str, count: int) -> list[tuple[str, str]]:
    """Who waits for nobody starts; then who waits only for these; and so on until all but one must have.

    Without a circle every round starts at least one more role, so after all rounds at most one is left; of a circle at
    least two are always left, and then nobody else is who could start.
    """
    first = ("round1", f"{everybody}.filter(one, size(waits[one]) == 0)")
    return [first] + [
        (f"round{number}", f"{everybody}.filter(one, waits[one].all(other, other in round{number - 1}))")
        for number in range(2, count)
    ]


def _let_all(lets: Sequence[tuple[str, str]], condition: str) -> str:
    return "".join(f"[{value}].all({name}, " for name, value in lets) + condition + ")" * len(lets)


def _let(lets: Sequence[tuple[str, str]], value: str) -> str:
    return "".join(f"[{bound}].map({name}, " for name, bound in lets) + value + ")[0]" * len(lets)
