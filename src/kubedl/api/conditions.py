"""Conditions as metav1 defines them: one per type, with the moment of its last change."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from kubedl.schema.structural import list_map
from kubedl.wire.meta import Record

LONGEST_REASON, LONGEST_MESSAGE = 1024, 32768  # characters, as metav1 has it


class Condition(Record, frozen=True):
    """One statement about an object, true, false or unknown since a moment."""

    type: Annotated[str, Meta(max_length=316, description="What is stated.")]
    status: Annotated[Literal["True", "False", "Unknown"], Meta(description="Whether it holds.")]
    reason: Annotated[str, Meta(max_length=LONGEST_REASON, description="Why, in a word for programs.")] = ""
    message: Annotated[str, Meta(max_length=LONGEST_MESSAGE, description="Why, in a sentence for people.")] = ""
    last_transition_time: Annotated[datetime | None, Meta(description="Since when.")] = None
    observed_generation: Annotated[int, Meta(description="The generation of the spec that this is about.")] = 0


# One condition per type; whoever applies one leaves the others alone.
Conditions = Annotated[
    tuple[Condition, ...],
    Meta(max_length=32, description="What is to be said about the object.", extra_json_schema=list_map("type")),
]


def find(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """The condition of that type."""
    return next((condition for condition in conditions if condition.type == kind), None)


def is_true(conditions: Iterable[Condition], kind: str) -> bool:
    """Whether the condition is there and true."""
    found = find(conditions, kind)
    return found is not None and found.status == "True"


def is_finished(conditions: Iterable[Condition]) -> bool:
    """Whether a job has ended, one way or the other. There is no way back."""
    return any(one.type in ("Succeeded", "Failed") and one.status == "True" for one in conditions)


def set_condition(conditions: tuple[Condition, ...], new: Condition, now: datetime) -> tuple[Condition, ...]:
    """Put `new` in the place of its type; the moment changes only when the status does.

    Words of others are cut to what the API server takes: a status that it refuses would stop the object for good.
    """
    old = find(conditions, new.type)
    moment = old.last_transition_time if old is not None and old.status == new.status else now
    reason, message = new.reason[:LONGEST_REASON], new.message[:LONGEST_MESSAGE]
    new = msgspec.structs.replace(new, last_transition_time=moment, reason=reason, message=message)
    if old is None:
        return (*conditions, new)
    return tuple(new if condition.type == new.type else condition for condition in conditions)
