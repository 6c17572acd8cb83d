"""The condition Blocked: why the objects of a job cannot be created, with the API server's error message. Pure."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from kubedl.api.conditions import Condition, find, holding, set_condition
from kubedl.api.training import JobStatus
from kubedl.kube.errors import ApiError, UnknownOutcomeError
from kubedl.kube.types.core import Pod
from kubedl.podspec.template import TemplateError
from kubedl.training.labels import JOB_NAME

Refusal = ApiError | TemplateError
Outcome = tuple[str, str]  # reason and message

BLOCKED = "Blocked"
HIDDEN = "PodHidden"
MOST_NAMED = 5


def refusal_reason(refusal: Refusal, kind: str) -> Outcome:
    """Return reason and message for a rejected create of a kind."""
    if isinstance(refusal, ApiError):
        return f"{kind}{refusal.reason or 'Refused'}", refusal.message
    return "TemplateInvalid", str(refusal)


def is_no_answer(refusal: Refusal) -> bool:
    """Return whether the server did not respond: then there is nothing that a user could fix."""
    return isinstance(refusal, UnknownOutcomeError) and not refusal.reason


def with_blocked(status: JobStatus, generation: int, said: Outcome, now: datetime) -> JobStatus:
    """Return the status with the condition Blocked."""
    reason, message = said
    condition = Condition(type=BLOCKED, status="True", reason=reason, message=message, observed_generation=generation)
    return msgspec.structs.replace(status, reason=reason, conditions=set_condition(status.conditions, condition, now))


def without_blocked(status: JobStatus, generation: int, now: datetime, reason: str = "PodsCreated") -> JobStatus:
    """Return the status without the condition Blocked."""
    if find(status.conditions, BLOCKED) is None:
        return status
    condition = Condition(type=BLOCKED, status="False", reason=reason, observed_generation=generation)
    return msgspec.structs.replace(status, conditions=set_condition(status.conditions, condition, now))


def waiting(status: JobStatus) -> JobStatus:
    """Return the status during the delay after a rejection: unchanged, with its reason."""
    condition = holding(status.conditions, BLOCKED)
    return status if condition is None else msgspec.structs.replace(status, reason=condition.reason)


def by_hidden(status: JobStatus) -> bool:
    """Return whether the job is blocked only by pods that lost their label."""
    condition = holding(status.conditions, BLOCKED)
    return condition is not None and condition.reason == HIDDEN


def with_hidden(status: JobStatus, generation: int, hidden: Sequence[Pod], now: datetime) -> JobStatus:
    """Return the status with the pods that lost their label, and so are not watched; a rejection has precedence."""
    found = holding(status.conditions, BLOCKED)
    if found is not None and found.reason != HIDDEN:
        return status
    if not hidden:
        return without_blocked(status, generation, now, "PodSeen") if found is not None else status
    names = sorted(pod.metadata.name for pod in hidden)
    named = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    message = (
        f"{named} lost the label {JOB_NAME}, so the operator no longer watches it and does not replace it; restore "
        "the label, or delete the pod"
    )
    condition = Condition(type=BLOCKED, status="True", reason=HIDDEN, message=message, observed_generation=generation)
    return msgspec.structs.replace(status, conditions=set_condition(status.conditions, condition, now))
