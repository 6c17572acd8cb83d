"""Flags about one role of a job, such as --ps-cpu: every kind has them for its own roles."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from kubedl.cli.submit.kind_schema import KindSchema

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "role__"  # of the parameters


@dataclass(frozen=True)
class RoleFlags:
    """Values for one role; those that are not given are those of all roles."""

    image: str | None = None
    command: str | None = None
    cpu: str | None = None
    cpu_limit: str | None = None
    memory: str | None = None
    memory_limit: str | None = None
    gpus: int | None = None
    selector: tuple[str, ...] = ()
    annotation: tuple[str, ...] = ()
    port: int | None = None
    affinity_policy: str | None = None
    affinity_constraint: str | None = None
    restart_policy: str | None = None


NOTHING = RoleFlags()
_TYPES: dict[str, dict[str, Any]] = {
    "image": {},
    "command": {},
    "cpu": {},
    "cpu_limit": {},
    "memory": {},
    "memory_limit": {},
    "gpus": {"type": click.IntRange(0)},
    "selector": {"multiple": True},
    "annotation": {"multiple": True},
    "port": {"type": click.IntRange(1, 65535)},
    "affinity_policy": {"type": click.Choice(("spread", "binpack", "none"))},
    "affinity_constraint": {"type": click.Choice(("preferred", "required"))},
    "restart_policy": {"type": click.Choice(("Always", "OnFailure", "Never", "ExitCode"))},
}


def role_options(kind: KindSchema) -> list[click.Parameter]:
    """Return the flags of all roles. They are described together, below the others."""
    return [
        click.Option(
            [f"--{role.word}-{name.replace('_', '-')}", f"{PREFIX}{role.name.lower()}__{name}"],
            hidden=True,
            help=f"{name.replace('_', ' ').capitalize()} of {role.name}.",
            **attributes,
        )
        for role in kind.roles
        for name, attributes in _TYPES.items()
    ]


def described(kind: KindSchema) -> str:
    """Return what the help says about them."""
    roles = [role.word for role in kind.roles]
    flags = [f"--{roles[0]}-{name.replace('_', '-')}" for name in _TYPES]
    others = f", and so for {', '.join(roles[1:])}" if len(roles) > 1 else ""
    return f"Flags of one role: {', '.join(flags)}{others}."


def take(kind: KindSchema, flags: dict[str, Any]) -> dict[str, RoleFlags]:
    """Remove the values of these flags from all values, and return them by role."""
    found: dict[str, RoleFlags] = {}
    for role in kind.roles:
        start = f"{PREFIX}{role.name.lower()}__"
        given: Mapping[str, Any] = {name: flags.pop(f"{start}{name}") for name in _TYPES}
        found[role.name] = RoleFlags(**given)
    return found
