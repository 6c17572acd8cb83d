"""How many replicas of which role a job gets, and which of them compute: those get GPUs, CPUs and memory."""

from collections.abc import Mapping

import click

from kubedl.cli.submit.kind_schema import KindSchema, RoleSchema

LEADER, WORKER, LAUNCHER = "Master", "Worker", "Launcher"
# They serve those that compute: parameters, numbers, pages, or a start by ssh.
SERVING = ("PS", "Evaluator", LAUNCHER, "Scheduler", "WebService")
SWITCHES = ("Chief", "Evaluator")  # of TensorFlow: one or none, as Arena has it
ALWAYS_ONE = (LAUNCHER, "Scheduler", "WebService")
NO_FLAG = {"tf": (LEADER,)}  # Chief is the newer word for it
PARAMETER = "count__"


def leads(kind: KindSchema) -> bool:
    """Return whether the first replica is a Master that computes too, so that --workers counts it."""
    master = kind.role(LEADER)
    return master is not None and master.at_most == 1 and kind.role(WORKER) is not None


def count_options(kind: KindSchema) -> list[click.Parameter]:
    """Return the flags for numbers of replicas."""
    found: list[click.Parameter] = []
    if kind.role(WORKER) is not None:
        text = "Replicas, of which one is the Master; default 1." if leads(kind) else "Workers; default 1."
        found.append(click.Option(["--workers"], type=click.IntRange(1, 10_000), default=1, metavar="N", help=text))
    return found + [_option(role) for role in kind.roles if _has_flag(kind, role)]


def _has_flag(kind: KindSchema, role: RoleSchema) -> bool:
    return role.name not in (WORKER, LAUNCHER, *NO_FLAG.get(kind.word, ())) and not (
        role.at_most == 1 and role.name == LEADER
    )


def _option(role: RoleSchema) -> click.Option:
    parameter = f"{PARAMETER}{role.name.lower()}"
    if role.name in SWITCHES:
        return click.Option([f"--{role.word}", parameter], is_flag=True, help=f"Add one {role.name}.")
    name = f"--{role.word}" if role.name == "PS" else f"--{role.word}-replicas"
    default = 1 if role.name in ALWAYS_ONE else 0
    return click.Option(
        [name, parameter],
        type=click.IntRange(1 if role.required else 0, 10_000),
        default=default,
        metavar="N",
        help=f"Replicas of {role.name}; default {default}.",
    )


def counts(kind: KindSchema, workers: int, given: Mapping[str, int]) -> dict[str, int]:
    """Return replicas by role, in the order of the kind; roles without replicas are left out."""
    found: dict[str, int] = {}
    for role in kind.roles:
        if role.name == WORKER:
            found[role.name] = workers - 1 if leads(kind) else workers
        elif role.name == LAUNCHER or (role.name == LEADER and role.at_most == 1):
            found[role.name] = 1
        else:
            found[role.name] = int(given.get(role.name.lower(), 0))
    return {name: count for name, count in found.items() if count}


def computes(role: str) -> bool:
    """Return whether a role gets the resources of the job."""
    return role not in SERVING


def runs_command(kind: KindSchema, role: str) -> bool:
    """Return whether a role runs the command: of an MPIJob only the Launcher, whose Workers wait for it."""
    return kind.role(LAUNCHER) is None or role == LAUNCHER
