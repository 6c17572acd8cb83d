"""The condition Blocked: what stands in the way of a job's objects, in the server's own words. Pure."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from kubedl.api.conditions import Condition, find, is_true, set_condition
from kubedl.api.pod_template import TemplateError
from kubedl.api.training import JobStatus
from kubedl.kube.errors import ApiError, UnsureError
from kubedl.training.labels import JOB_NAME
from kubedl.wire.core import Pod

Refusal = ApiError | TemplateError
Outcome = tuple[str, str]  # reason and message

BLOCKED = "Blocked"
HIDDEN = "PodHidden"
MOST_NAMED = 5


def outcome(refusal: Refusal, kind: str) -> Outcome:
    """What is to be said of a refusal to create an object of a kind."""
    if isinstance(refusal, ApiError):
        return f"{kind}{refusal.reason or 'Refused'}", refusal.message
    return "TemplateInvalid", str(refusal)


def is_silence(refusal: Refusal) -> bool:
    """Whether the server gave no answer of its own: then nothing stands in the way that a person could remove."""
    return isinstance(refusal, UnsureError) and not refusal.reason


def stated(status: JobStatus, generation: int, said: Outcome, now: datetime) -> JobStatus:
    """The status with what stands in the way."""
    reason, message = said
    condition = Condition(type=BLOCKED, status="True", reason=reason, message=message, observed_generation=generation)
    return msgspec.structs.replace(status, reason=reason, conditions=set_condition(status.conditions, condition, now))


def cleared(status: JobStatus, generation: int, now: datetime, reason: str = "PodsCreated") -> JobStatus:
    """The status when nothing stands in the way any more."""
    if find(status.conditions, BLOCKED) is None:
        return status
    condition = Condition(type=BLOCKED, status="False", reason=reason, observed_generation=generation)
    return msgspec.structs.replace(status, conditions=set_condition(status.conditions, condition, now))


def waiting(status: JobStatus) -> JobStatus:
    """The status while the pause after a refusal lasts: as it was, with the reason that it had."""
    found = find(status.conditions, BLOCKED)
    if found is None or found.status != "True":
        return status
    return msgspec.structs.replace(status, reason=found.reason)


def by_hidden(status: JobStatus) -> bool:
    """Whether nothing stands in the way but pods that the operator's watch no longer shows."""
    found = find(status.conditions, BLOCKED)
    return found is not None and (found.status, found.reason) == ("True", HIDDEN)


def with_hidden(status: JobStatus, generation: int, hidden: Sequence[Pod], now: datetime) -> JobStatus:
    """The status with the pods that exist and that the operator's watch no longer shows; a refusal outranks them."""
    found = find(status.conditions, BLOCKED)
    if found is not None and found.status == "True" and found.reason != HIDDEN:
        return status
    if not hidden:
        return cleared(status, generation, now, "PodSeen") if is_true(status.conditions, BLOCKED) else status
    names = sorted(pod.metadata.name for pod in hidden)
    named = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    message = (
        f"{named} lost the label {JOB_NAME}, so what becomes of it is seen late, and it is not replaced; "
        "put the label back, or delete the pod"
    )
    condition = Condition(type=BLOCKED, status="True", reason=HIDDEN, message=message, observed_generation=generation)
    return msgspec.structs.replace(status, conditions=set_condition(status.conditions, condition, now))
