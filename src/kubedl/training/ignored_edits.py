"""Ignored edits: settings that must be known before the first pod of a job, but are set after it has started.

They are ignored until the job is suspended and resumed, with the condition EditIgnored.
"""

from collections.abc import Iterable, Sequence

from kubedl.training.addons.base import EDIT_IGNORED, Addon, Reason
from kubedl.training.observed import ObservedReplica
from kubedl.training.plan import PlanBuilder
from kubedl.training.policies.legacy_annotations import unsupported

HOW = "it was set after the job had started; suspend and resume the job, or create a new one"


def ignore(builder: PlanBuilder, replicas: Iterable[ObservedReplica], addons: Sequence[Addon]) -> None:
    """Set the condition for ignored edits, if any."""
    late = _late_addon(builder, replicas, addons) if addons else None
    if late is not None:
        reason, message = late[0], f"{late[1]} is ignored: {HOW}"
    elif message := unsupported(builder.observed.job.resource, builder.observed.kind) or "":
        reason, message = "AnnotationAddedLate", f"{message}; ignored: {HOW}"
    else:
        builder.condition(EDIT_IGNORED, False, "NothingIgnored")
        return
    if builder.condition(EDIT_IGNORED, True, reason, message):
        builder.event("Warning", reason, message)


def _late_addon(builder: PlanBuilder, replicas: Iterable[ObservedReplica], addons: Sequence[Addon]) -> Reason | None:
    """Return why an add-on is ignored that is requested while unfinished replicas have pods without it."""
    pods = [seen.current for seen in replicas if seen.current is not None and not seen.succeeded]
    resource = builder.observed.job.resource
    return next(filter(None, (addon.late_edit(resource, pods) for addon in addons)), None)
