"""Conditions as in metav1: one per type, with the time of the last transition."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from kubedl.kube.types.meta import Record
from kubedl.schema.structural import list_map

LONGEST_REASON, LONGEST_MESSAGE = 1024, 32768  # characters, the limits of metav1


class Condition(Record, frozen=True):
    """One aspect of an object's state: true, false or unknown."""

    type: Annotated[str, Meta(max_length=316, description="The type of the condition, in CamelCase.")]
    status: Annotated[
        Literal["True", "False", "Unknown"], Meta(description="The status of the condition: True, False or Unknown.")
    ]
    reason: Annotated[
        str,
        Meta(max_length=LONGEST_REASON, description="The reason of the last transition, in CamelCase, for programs."),
    ] = ""
    message: Annotated[
        str, Meta(max_length=LONGEST_MESSAGE, description="A human-readable explanation of the last transition.")
    ] = ""
    last_transition_time: Annotated[datetime | None, Meta(description="The time when the status last changed.")] = None
    observed_generation: Annotated[
        int, Meta(description="The generation of the spec that this condition describes.")
    ] = 0


# A map by type, so a server-side apply of one condition leaves the others alone.
Conditions = Annotated[
    tuple[Condition, ...],
    Meta(max_length=32, description="The conditions of the object, one per type.", extra_json_schema=list_map("type")),
]


def find(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """Return the condition of the given type."""
    for condition in conditions:  # called ten times per plan; a generator takes twice as long
        if condition.type == kind:
            return condition
    return None


def holding(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """Return the condition of the given type if it is true."""
    condition = find(conditions, kind)
    return condition if condition is not None and condition.status == "True" else None


def turned(before: Iterable[Condition], after: Iterable[Condition], kind: str) -> Condition | None:
    """Return the condition of this type if its status or reason changed; a new message alone does not count."""
    old, new = find(before, kind), find(after, kind)
    if new is None or (old is not None and (old.status, old.reason) == (new.status, new.reason)):
        return None
    return new


def is_true(conditions: Iterable[Condition], kind: str) -> bool:
    """Return whether the condition exists and is true."""
    return holding(conditions, kind) is not None


def is_finished(conditions: Iterable[Condition]) -> bool:
    """Return whether a job has succeeded or failed. Both are final."""
    return any(condition.type in ("Succeeded", "Failed") and condition.status == "True" for condition in conditions)


def set_condition(conditions: tuple[Condition, ...], new: Condition, now: datetime) -> tuple[Condition, ...]:
    """Set the condition `new`; its transition time changes only when its status does.

    Reason and message are cut to the limits of the API server: it would reject the status forever, and block the
    object.
    """
    old = find(conditions, new.type)
    moment = old.last_transition_time if old is not None and old.status == new.status else now
    reason, message = new.reason[:LONGEST_REASON], new.message[:LONGEST_MESSAGE]
    new = msgspec.structs.replace(new, last_transition_time=moment, reason=reason, message=message)
    if old is None:
        return (*conditions, new)
    return tuple(new if condition.type == new.type else condition for condition in conditions)
