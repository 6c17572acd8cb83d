"""A ScaleIn or a ScaleOut, and what is written about its steps: one view of both kinds. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

import msgspec

from kubedl.api.conditions import LONGEST_MESSAGE
from kubedl.api.scaling import KIND_LABEL, ScaleIn, ScaleInStatus, ScaleOut, ScaleOutStatus, ScalerCondition
from kubedl.kube.types.meta import ObjectMeta, Resource

CREATED: Final = "Created"
SCALING: Final = "Scaling"
SUCCEEDED: Final = "ScaleSucceeded"
FAILED: Final = "ScaleFailed"
TAKING_BACK = "TakingBack"
_OF_SCALE_IN: Mapping[str, str] = {
    CREATED: "ScaleInCreated",
    SCALING: "ScalingIn",
    SUCCEEDED: "ScalingInSucceeded",
    FAILED: "ScalingInFailed",
}
_OF_SCALE_OUT: Mapping[str, str] = {
    CREATED: "ScaleOutCreated",
    SCALING: "ScalingOut",
    SUCCEEDED: "ScalingOutSucceeded",
    FAILED: "ScalingOutFailed",
}
NAMED = 3  # pods that a message names

Status = ScaleInStatus | ScaleOutStatus
Step = Literal["Created", "Scaling", "ScaleSucceeded", "ScaleFailed"]


@dataclass(frozen=True)
class Scaler:
    """One scaler as it is in the cache."""

    resource: Resource[Any]
    body: ScaleIn | ScaleOut

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.body.metadata.name}"

    @property
    def full_name(self) -> str:
        """Return its kind, namespace and name, as et-operator writes it into statuses."""
        return f"{self.resource.kind}:{self.body.metadata.namespace}/{self.body.metadata.name}"

    @property
    def status(self) -> Status:
        """Return its status."""
        return self.body.status

    @property
    def adds(self) -> bool:
        """Return whether it is a ScaleOut."""
        return isinstance(self.body, ScaleOut)

    @property
    def pods(self) -> tuple[str, ...]:
        """Return the pods that it was said to add or to remove."""
        status = self.status
        return status.add_pods if isinstance(status, ScaleOutStatus) else status.to_delete_pods

    @property
    def sizes(self) -> tuple[int, int]:
        """Return the sizes of the job before and after, by the status."""
        before = self.status.job_replicas
        return before, before + len(self.pods) * (1 if self.adds else -1)

    @property
    def job_kind(self) -> str:
        """Return the kind of the job, if its author names one."""
        return self.body.metadata.labels.get(KIND_LABEL, "")

    @property
    def order(self) -> tuple[datetime, str, str]:
        """Return its place among the scalers of a job: by creation time."""
        meta = self.body.metadata
        return meta.creation_timestamp or datetime.max.replace(tzinfo=UTC), self.resource.kind, meta.name

    @property
    def is_finished(self) -> bool:
        """Return whether it succeeded or failed. Both are final."""
        return any(one.type in (SUCCEEDED, FAILED) for one in self.status.conditions)

    @property
    def is_claimed(self) -> bool:
        """Return whether its pods are in its status, so that the job may be changed."""
        return self._scaling is not None

    @property
    def takes_back(self) -> bool:
        """Return whether the pods that it added are being removed again."""
        return self._scaling is not None and self._scaling.reason == TAKING_BACK

    @property
    def _scaling(self) -> ScalerCondition | None:
        return next((one for one in self.status.conditions if one.type == SCALING), None)


def waiting(scaler: Scaler, current: Scaler, now: datetime) -> Status:
    """Return the status of a scaler that is known and has to wait for another one."""
    status = _created(scaler, f"waits for {current}", now)
    return msgspec.structs.replace(status, current_scaler=current.full_name)


def claimed(scaler: Scaler, pods: tuple[str, ...], job: ObjectMeta, replicas: int, now: datetime) -> Status:
    """Return the status with the pods that come or go, and the version and size of the job that they are chosen for."""
    status = scaler.status if scaler.status.conditions else _created(scaler, "", now)
    message = f"{'adds' if scaler.adds else 'removes'} {listed(pods)}"
    status = msgspec.structs.replace(
        _stepped(status, SCALING, _reason(scaler, SCALING), message, now),
        current_scaler=scaler.full_name,
        job_uid=job.uid,
        job_generation=job.generation,
        job_replicas=replicas,
    )
    if isinstance(status, ScaleOutStatus):
        return msgspec.structs.replace(status, add_pods=pods)
    return msgspec.structs.replace(status, to_delete_pods=pods)


def started(scaler: Scaler, now: datetime) -> Status:
    """Return the status of a scaler whose job has its new number of replicas."""
    return msgspec.structs.replace(scaler.status, start_time=now, last_reconcile_time=now)


def taking_back(scaler: Scaler, generation: int, message: str, now: datetime) -> Status:
    """Return the status of a ScaleOut whose pods do not run, before the job is changed."""
    return msgspec.structs.replace(
        _stepped(scaler.status, SCALING, TAKING_BACK, message, now), job_generation=generation
    )


def succeeded(scaler: Scaler, message: str, now: datetime) -> Status:
    """Return the status of a scaler that has done its work."""
    return _ended(scaler, SUCCEEDED, _reason(scaler, SUCCEEDED), message, now)


def failed(scaler: Scaler, reason: str, message: str, now: datetime) -> Status:
    """Return the status of a scaler that has not; without a reason it is the one of its kind."""
    return _ended(scaler, FAILED, reason or _reason(scaler, FAILED), message, now)


def listed(pods: Iterable[str]) -> str:
    """Return a few names for a message."""
    names = list(pods)
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _reason(scaler: Scaler, step: Step) -> str:
    return (_OF_SCALE_OUT if scaler.adds else _OF_SCALE_IN)[step]


def _created(scaler: Scaler, message: str, now: datetime) -> Status:
    return _stepped(scaler.status, CREATED, _reason(scaler, CREATED), message, now)


def _ended(scaler: Scaler, step: Step, reason: str, message: str, now: datetime) -> Status:
    status = scaler.status if scaler.status.conditions else _created(scaler, "", now)
    over = tuple(_over(one, now) if one.type == SCALING else one for one in status.conditions)
    status = _stepped(msgspec.structs.replace(status, conditions=over), step, reason, message, now)
    return msgspec.structs.replace(status, current_scaler="", completion_time=now)


def _over(condition: ScalerCondition, now: datetime) -> ScalerCondition:
    return msgspec.structs.replace(condition, status="False", last_update_time=now, last_transition_time=now)


def _stepped(status: Status, step: Step, reason: str, message: str, now: datetime) -> Status:
    """Return the status with a step, which is the last one then."""
    old = next((one for one in status.conditions if one.type == step), None)
    condition = ScalerCondition(
        type=step,
        status="True",
        reason=reason,
        message=message[:LONGEST_MESSAGE],
        last_update_time=now,
        last_transition_time=old.last_transition_time if old is not None else now,
    )
    conditions = (*(one for one in status.conditions if one.type != step), condition)
    return msgspec.structs.replace(status, phase=step, conditions=conditions, last_reconcile_time=now)
