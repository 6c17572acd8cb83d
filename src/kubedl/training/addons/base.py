"""What an add-on is: something that a job may ask for beside its replicas.

The engine calls every add-on that a job requests, in the order of the registry, and knows none by name:

1. `validate` before the first pod: a request that cannot be met fails the job with a reason.
2. `observe_status` in every plan: read what pods report, record it in the job's status, or fail the job.
3. `gate` in every plan that creates pods: hold them back, and say what they wait for.
4. `prepare` and `objects` before the Service and the pods: create what they need.
5. `mutate_pod` for each pod that is created.
6. `classify_failure` for each pod that failed.

All but `prepare` are pure. A job that does not ask for an add-on costs one call of `is_requested`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from kubedl.api.training import TrainingJob
from kubedl.kube.types.core import Pod
from kubedl.podspec.template import TemplateError
from kubedl.runtime.writer import Writer
from kubedl.training.job import Job
from kubedl.training.kind import AuxiliaryObject
from kubedl.training.observed import Observed, ObservedReplica, Settings
from kubedl.training.plan import Creation, Gate, PlanBuilder
from kubedl.training.policies.failure_policy import Failure

Body = dict[str, Any]
Reason = tuple[str, str]  # reason and message

EDIT_IGNORED = "EditIgnored"  # the condition of a job that runs without what an edit asked for too late


class AddonError(TemplateError):
    """What was asked for cannot be done; the message names the place and what to do."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Addon:
    """One add-on. Subclasses override what they need."""

    condition: ClassVar[str] = ""  # True while the gate is closed; without one, PodsReady alone reports the gate
    condition_passed: ClassVar[str] = ""  # reason of that condition when the gate is open
    remark: ClassVar[str] = ""  # a condition that `observe_status` sets, which holds no pods back

    def is_requested(self, resource: TrainingJob) -> bool:
        """Whether the job asks for it, validly or not."""
        return True

    def validate(self, resource: TrainingJob) -> None:
        """Raises AddonError if the job asks for what cannot be done."""

    def late_edit(self, resource: TrainingJob, pods: Sequence[Pod]) -> Reason | None:
        """Why a request is ignored that came after these pods were created; None if it is used."""

    def observe_status(self, builder: PlanBuilder, replicas: Sequence[ObservedReplica]) -> Reason | None:
        """Record in the job's status what pods report; returns why the job fails, if it must."""

    def gate(self, builder: PlanBuilder) -> Gate | None:
        """What missing pods wait for; None if they may be created."""

    async def prepare(self, writer: Writer, observed: Observed, creations: Sequence[Creation]) -> None:
        """Create what `objects` cannot describe, before these pods. Must be safe to repeat."""

    def objects(self, job: Job, settings: Settings) -> Iterable[AuxiliaryObject]:
        """Objects that the job owns, created before its first pod."""
        return ()

    def mutate_pod(self, pod: Body, job: Job, settings: Settings) -> None:
        """Add to a replica's pod what it needs. Raises AddonError if that cannot be done."""

    def classify_failure(self, pod: Pod, failure: Failure) -> Failure:
        """The failure as it counts, where the add-on knows better why the pod failed."""
        return failure

    def pod_names(self, resource: TrainingJob) -> Iterable[str]:
        """Pods that the job owns and that are no replicas, requested now or before."""
        return ()

    def helpers(self, observed: Observed) -> Iterable[Pod]:
        """Pods that are no replicas, and are deleted like them when the job is suspended or has ended."""
        return ()
