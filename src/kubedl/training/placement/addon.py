"""The add-on of placement wishes: refuses those that a template excludes, adds the others to pods, and reports."""

from collections.abc import Sequence

from kubedl.api.training import GROUP, TrainingJob
from kubedl.training import labels
from kubedl.training.addons.base import Addon, AddonError, Body, Reason
from kubedl.training.job import Job
from kubedl.training.observed import ObservedReplica, Settings
from kubedl.training.placement.pod_spec import place
from kubedl.training.placement.template_conflicts import conflict
from kubedl.training.placement.wish import Wish, is_requested, wishes
from kubedl.training.plan import PlanBuilder

INVALID = "PlacementInvalid"
HONOURED = "PlacementPossible"


class PlacementWishes(Addon):
    """Every pod gets the wish of its role; the condition says what no node can satisfy."""

    remark = "PlacementUnmet"

    def is_requested(self, resource: TrainingJob) -> bool:
        """By spec.placement, or the placement of a role."""
        return is_requested(resource)

    def validate(self, resource: TrainingJob) -> None:
        """No template contradicts its wish."""
        found = wishes(resource)
        for name in resource.spec.replica_specs:
            if name.lower() in found:
                _check(resource, name, found[name.lower()])

    def observe_status(self, builder: PlanBuilder, replicas: Sequence[ObservedReplica]) -> Reason | None:
        """Report what no node of the cluster can satisfy, although pods may run."""
        unmet = builder.observed.unmet_placement
        reason, message = (unmet[0][0], "; ".join(text for _, text in unmet)) if unmet else (HONOURED, "")
        if builder.condition(self.remark, bool(unmet), reason, message) and unmet:
            builder.event("Warning", reason, message)
        return None

    def mutate_pod(self, pod: Body, job: Job, settings: Settings) -> None:
        """Add the wish of its role; an edit after the start may contradict it."""
        role = pod["metadata"]["labels"][labels.REPLICA_TYPE]
        wish = wishes(job.resource).get(role)
        if wish is not None:
            _check(job.resource, next(name for name in job.resource.spec.replica_specs if name.lower() == role), wish)
            place(pod["spec"], wish, job.uid)


def _check(resource: TrainingJob, role: str, wish: Wish) -> None:
    message = conflict(role, resource.spec.replica_specs[role].template, wish, _labels(resource, role))
    if message is not None:
        raise AddonError(INVALID, message)


def _labels(resource: TrainingJob, role: str) -> dict[str, str]:
    """The labels that all pods of a role have."""
    meta, kind = resource.metadata, role.lower()
    return {labels.JOB_NAME: meta.name, labels.JOB_UID: meta.uid, labels.REPLICA_TYPE: kind} | {
        "group-name": GROUP,
        "job-name": meta.name,
        "replica-type": kind,
    }
