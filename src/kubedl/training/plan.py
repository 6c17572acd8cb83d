"""The plan of a job as data, and its builder.

A plan is data. Deletions happen after its status is written, so that what they destroy has been counted; creations
happen before, so that the status speaks of them. No plan has both.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from kubedl.api.conditions import Condition, find, set_condition
from kubedl.api.training import JobStatus, State
from kubedl.kube.types.core import Pod
from kubedl.training.gang.scheduler import Gang
from kubedl.training.job import Replica
from kubedl.training.observed import Observed
from kubedl.training.policies.safe_time import later

EventType = Literal["Normal", "Warning"]


@dataclass(frozen=True)
class Event:
    """A Kubernetes Event to record."""

    type: EventType
    reason: str
    message: str


@dataclass(frozen=True)
class Deletion:
    """A pod to delete; with force if its node is lost."""

    pod: Pod
    force: bool = False


@dataclass(frozen=True)
class Creation:
    """A replica whose pod is to be created."""

    replica: Replica
    attempt: int
    gang: Gang | None = None  # with which it is scheduled


@dataclass(frozen=True)
class Gate:
    """Why an add-on holds missing pods back. Without a reason nothing is reported: the next reconcile continues."""

    reason: str
    message: str
    allowed: int = 0  # how many of them may be created meanwhile
    comes_first: bool = False  # whether it explains why roles wait for each other


@dataclass(frozen=True)
class CheckpointRequest:
    """A question to the program in a pod, whose answer is in the next observation."""

    pod: Pod
    port: int
    id: str


@dataclass(frozen=True)
class ProgressRequest:
    """A question to the program in a pod how far it is."""

    pod: Pod
    port: int


@dataclass(frozen=True)
class Plan:
    """What to write for a job, and when to reconcile it again."""

    status: JobStatus
    create_service: bool = False
    prepare: bool = False  # create what add-ons need, although no pod is created
    creations: tuple[Creation, ...] = ()
    deletions: tuple[Deletion, ...] = ()
    delete_job: bool = False
    events: tuple[Event, ...] = ()
    forget: tuple[str, ...] = ()  # uids of deleted pods that are recorded in the status
    wake_at: datetime | None = None
    confirm: tuple[str, ...] = ()  # pods to look up in the API server: if one still exists, the plan is discarded
    without_model: JobStatus | None = None  # the status if the ModelVersion, created before the end, is rejected
    inquire: Pod | None = None  # read the Events of this pod, then plan again
    retry: Gang | None = None  # let its scheduler look at it again
    ask: CheckpointRequest | None = None  # its id is in the status already
    report: ProgressRequest | None = None

    @property
    def creates(self) -> bool:
        """Whether anything is created."""
        return self.create_service or self.prepare or bool(self.creations)


@dataclass
class PlanBuilder:
    """Collects the parts of a plan."""

    observed: Observed
    status: JobStatus = field(init=False)
    create_service: bool = False
    prepare: bool = False
    creations: list[Creation] = field(default_factory=list)
    deletions: list[Deletion] = field(default_factory=list)
    delete_job: bool = False
    events: list[Event] = field(default_factory=list)
    forget: list[str] = field(default_factory=list)
    wake_at: datetime | None = None
    confirm: list[str] = field(default_factory=list)
    without_model: JobStatus | None = None
    inquire: Pod | None = None
    retry: Gang | None = None
    ask: CheckpointRequest | None = None
    report: ProgressRequest | None = None
    given_up: frozenset[Replica] = frozenset()  # failed permanently, and the job continues without them
    gates: list[Gate] = field(default_factory=list)  # closed gates
    held_by: Gate | None = None  # the first of them that holds pods back which could be created otherwise
    moved: bool = False  # an attempt was increased, which must be in the status before its pods are created

    def __post_init__(self) -> None:
        self.status = self.observed.job.resource.status

    def set(self, **changes: object) -> None:
        """Change fields of the status."""
        self.status = msgspec.structs.replace(self.status, **changes)

    def condition(self, kind: str, holds: bool, reason: str, message: str = "") -> bool:
        """Set a condition; returns whether its status changed."""
        before = find(self.status.conditions, kind)
        status: Literal["True", "False"] = "True" if holds else "False"
        if before is None and not holds:
            return False  # a condition that was never True is not added as False
        generation = self.observed.job.resource.metadata.generation
        new = Condition(type=kind, status=status, reason=reason, message=message, observed_generation=generation)
        self.set(conditions=set_condition(self.status.conditions, new, self.observed.now))
        return before is None or before.status != status

    def state(self, state: State, reason: str, message: str = "") -> None:
        """Set state, reason and message, which `kubectl get` shows."""
        self.set(state=state, reason=reason, message=message)

    def event(self, kind: EventType, reason: str, message: str) -> None:
        """Add an Event."""
        self.events.append(Event(kind, reason, message))

    def delete(self, pod: Pod, force: bool = False) -> None:
        """Delete a pod; one that is terminating is deleted again only with force."""
        if force or pod.metadata.deletion_timestamp is None:
            self.deletions.append(Deletion(pod, force))

    def hold(self, gate: Gate) -> None:
        """Close a gate: no more pods are created than it allows."""
        self.gates.append(gate)
        if self.held_by is None and len(self.creations) > gate.allowed:
            self.held_by = gate
        self.creations = self.creations[: gate.allowed]

    def wake(self, moment: datetime | None) -> None:
        """Reconcile again at this time; the earliest counts, and times in the past are ignored."""
        if moment is None:
            return
        if moment.microsecond:  # the observed clock has whole seconds
            moment = later(moment.replace(microsecond=0), timedelta(seconds=1))
        if moment <= self.observed.now:
            return
        if self.wake_at is None or moment < self.wake_at:
            self.wake_at = moment

    def plan(self) -> Plan:
        """Return the plan."""
        return Plan(
            status=self.status,
            create_service=self.create_service,
            prepare=self.prepare and not self.deletions,
            creations=() if self.deletions else tuple(self.creations),
            deletions=tuple(self.deletions),
            delete_job=self.delete_job,
            events=tuple(self.events),
            forget=tuple(self.forget),
            wake_at=self.wake_at,
            confirm=tuple(self.confirm),
            without_model=self.without_model,
            inquire=self.inquire,
            retry=self.retry,
            ask=self.ask,
            report=self.report if self.ask is None else None,  # a checkpoint is more urgent
        )
