"""What is to be done for a job, and the draft in which it is collected.

A plan is data. Deletions happen after its status is written, so that what they destroy has been counted; creations
happen before, so that the status speaks of them. No plan has both.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from kubedl.api.conditions import Condition, find, set_condition
from kubedl.api.training import JobStatus, State
from kubedl.training.job import Replica
from kubedl.training.policies.moment import later
from kubedl.training.snapshot import Snapshot
from kubedl.wire.core import Pod

EventType = Literal["Normal", "Warning"]


@dataclass(frozen=True)
class Event:
    """Something that a person should read."""

    type: EventType
    reason: str
    message: str


@dataclass(frozen=True)
class Deletion:
    """A pod that must go; by force when its node cannot answer."""

    pod: Pod
    force: bool = False


@dataclass(frozen=True)
class Creation:
    """A replica that needs a pod."""

    replica: Replica
    attempt: int


@dataclass(frozen=True)
class Plan:
    """The outcome of looking at a job."""

    status: JobStatus
    create_service: bool = False
    creations: tuple[Creation, ...] = ()
    deletions: tuple[Deletion, ...] = ()
    delete_job: bool = False
    events: tuple[Event, ...] = ()
    forget: tuple[str, ...] = ()  # uids of deleted pods that the status speaks of by now
    wake_at: datetime | None = None
    confirm: tuple[str, ...] = ()  # pods that must really be gone, else the whole plan is void
    without_model: JobStatus | None = None  # a model version comes before the end; the status if it is refused
    inquire: Pod | None = None  # whose Events tell why it does not start, if anything does; plan again with the answer


@dataclass
class Draft:
    """A plan in the making."""

    snapshot: Snapshot
    status: JobStatus = field(init=False)
    create_service: bool = False
    creations: list[Creation] = field(default_factory=list)
    deletions: list[Deletion] = field(default_factory=list)
    delete_job: bool = False
    events: list[Event] = field(default_factory=list)
    forget: list[str] = field(default_factory=list)
    wake_at: datetime | None = None
    confirm: list[str] = field(default_factory=list)
    without_model: JobStatus | None = None
    inquire: Pod | None = None
    given_up: frozenset[Replica] = frozenset()  # failed for good, and the job goes on without them
    moved: bool = False  # replicas go to their next attempt, which must be written before anything of it is made

    def __post_init__(self) -> None:
        self.status = self.snapshot.job.made.status

    def set(self, **changes: object) -> None:
        """Change fields of the status."""
        self.status = msgspec.structs.replace(self.status, **changes)

    def condition(self, kind: str, holds: bool, reason: str, message: str = "") -> bool:
        """State a condition; returns whether it turned."""
        before = find(self.status.conditions, kind)
        status: Literal["True", "False"] = "True" if holds else "False"
        if before is None and not holds:
            return False  # what never was need not be denied
        generation = self.snapshot.job.made.metadata.generation
        new = Condition(type=kind, status=status, reason=reason, message=message, observed_generation=generation)
        self.set(conditions=set_condition(self.status.conditions, new, self.snapshot.now))
        return before is None or before.status != status

    def state(self, state: State, reason: str, message: str = "") -> None:
        """What people see at a glance."""
        self.set(state=state, reason=reason, message=message)

    def event(self, kind: EventType, reason: str, message: str) -> None:
        """Tell people."""
        self.events.append(Event(kind, reason, message))

    def delete(self, pod: Pod, force: bool = False) -> None:
        """This pod must go; one that is going already is only hurried."""
        if force or pod.metadata.deletion_timestamp is None:
            self.deletions.append(Deletion(pod, force))

    def wake(self, moment: datetime | None) -> None:
        """Look again at that moment; the earliest counts. One that has passed is dealt with in this very plan."""
        if moment is None:
            return
        if moment.microsecond:  # a snapshot's clock shows whole seconds: earlier it would not have come yet
            moment = later(moment.replace(microsecond=0), timedelta(seconds=1))
        if moment <= self.snapshot.now:
            return
        if self.wake_at is None or moment < self.wake_at:
            self.wake_at = moment

    def plan(self) -> Plan:
        """As it stands."""
        return Plan(
            status=self.status,
            create_service=self.create_service,
            creations=() if self.deletions else tuple(self.creations),
            deletions=tuple(self.deletions),
            delete_job=self.delete_job,
            events=tuple(self.events),
            forget=tuple(self.forget),
            wake_at=self.wake_at,
            confirm=tuple(self.confirm),
            without_model=self.without_model,
            inquire=self.inquire,
        )
