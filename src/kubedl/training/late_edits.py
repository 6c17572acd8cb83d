"""Edits that come too late: what is asked of a job that has begun, and would have to be known before its first pod.

They are ignored until the job is suspended and resumed, and the condition EditIgnored says so. It is also what keeps
the code from being put into pods that are made later: all pods of a job have the same code, or none.
"""

from collections.abc import Iterable

from kubedl.training.addons import code
from kubedl.training.plan import Draft
from kubedl.training.policies.unsupported import unsupported
from kubedl.training.snapshot import Sighting

CONDITION = code.EDIT_IGNORED
HOW = "it came after the job had begun; suspend and resume the job, or make a new one"


def ignore(draft: Draft, sightings: Iterable[Sighting]) -> None:
    """State which edits are ignored, if any."""
    made = draft.snapshot.job.made
    if _is_late_code(draft, sightings):
        reason, message = code.ADDED_LATE, f"annotation {code.ANNOTATION} is ignored: {HOW}"
    elif (words := unsupported(made.metadata.annotations)) is not None:
        reason, message = "AnnotationAddedLate", f"{words}; ignored: {HOW}"
    else:
        draft.condition(CONDITION, False, "NothingIgnored")
        return
    if draft.condition(CONDITION, True, reason, message):
        draft.event("Warning", reason, message)


def _is_late_code(draft: Draft, sightings: Iterable[Sighting]) -> bool:
    """Whether code is asked for while there are pods that were made without it, of replicas that are not done."""
    made = draft.snapshot.job.made
    if made.status.code_revision or not code.is_asked_for(made):
        return False
    if code.is_ignored(made.status):
        return True
    pods = [one.current for one in sightings if one.current is not None and not one.succeeded]
    return any(all(one.name != code.CONTAINER for one in pod.spec.init_containers) for pod in pods)
