"""Whether a job may run, by what Kueue says about its Workload. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kubedl.api.conditions import find, holding, is_true
from kubedl.training.kueue.places import Place
from kubedl.training.kueue.types import PodSetAssignment, PodSetUpdate, ResourceFlavor, Workload

Reason = tuple[str, str]  # reason and message

NOT_AVAILABLE = "KueueNotAvailable"
PENDING = "QuotaPending"
CHECKED, MOST_CHECKS = "Ready", 8


@dataclass(frozen=True)
class Queue:
    """The queue of a job, and its Workload."""

    name: str
    missing: str = ""  # what of Kueue the operator cannot use
    workload: Workload | None = None
    flavors: Mapping[str, ResourceFlavor] = field(default_factory=dict)
    conflict: Reason | None = None  # why the job must not wait in it
    place: Place | None = None  # in the queue; None if not known yet
    preemptor: str = ""  # who took the quota of the job, in words, since it was admitted last
    unreadable: str = ""  # why the job can have no Workload

    @property
    def is_silent(self) -> bool:
        """Whether nothing is known of the Workload, as after a restart: then jobs that run go on."""
        return bool(self.missing) or self.workload is None

    @property
    def is_lost(self) -> bool:
        """Whether Kueue is there and the Workload is not: nobody knows what its pods were admitted to."""
        return not self.missing and self.workload is None

    def obstacle(self) -> Reason | None:
        """Why the pods of the job must not run; None if they may."""
        if self.missing:
            return NOT_AVAILABLE, f"the job asks for queue {self.name}, and {self.missing}"
        if self.workload is None:
            refused = ("TemplateInvalid", self.unreadable) if self.unreadable else self.conflict
            return refused or (PENDING, f"the job waits in queue {self.name}")
        conditions = self.workload.status.conditions
        evicted = holding(conditions, "Evicted")
        # After its quota is given back, the job waits like any other until Kueue takes the condition away.
        if evicted is not None and self.workload.status.admission is not None:
            return evicted.reason or "Evicted", evicted.message or "the job was evicted from its queue"
        if is_true(conditions, "Admitted"):
            return None
        waiting = find(conditions, "QuotaReserved")
        if waiting is not None and waiting.status == "True":
            checks = "".join(self._unfinished_checks())
            return "AdmissionChecks", f"the job has quota in queue {self.name} and waits for admission checks{checks}"
        message = f": {waiting.message}" if waiting is not None and waiting.message else ""
        reason = waiting.reason if waiting is not None and waiting.reason not in ("", "Pending") else PENDING
        return reason, f"the job waits in queue {self.name}{message}"

    @property
    def message(self) -> str:
        """What Kueue says about the quota that the job waits for."""
        waiting = find(self.workload.status.conditions, "QuotaReserved") if self.workload is not None else None
        return waiting.message if waiting is not None and waiting.status != "True" else ""

    def missing_flavors(self) -> set[str]:
        """The flavors of the admission that are not known yet."""
        return {name for one in self._assignments for name in one.flavors.values()} - set(self.flavors)

    def flavors_of(self, role: str) -> list[ResourceFlavor]:
        """The flavors that a role was admitted to, by name."""
        names = {name for one in self._assignments if one.name == role.lower() for name in one.flavors.values()}
        return [self.flavors[name] for name in sorted(names)]

    def assignment_of(self, role: str) -> PodSetAssignment | None:
        """What a role was admitted to; None if the job is not admitted."""
        return next((one for one in self._assignments if one.name == role.lower()), None)

    def updates_of(self, role: str) -> list[PodSetUpdate]:
        """What admission checks add to the pods of a role."""
        checks = self.workload.status.admission_checks if self.workload is not None else ()
        return [update for check in checks for update in check.pod_set_updates if update.name == role.lower()]

    def _unfinished_checks(self) -> Iterator[str]:
        """The admission checks that hold the job back, and what they say."""
        for check in self.workload.status.admission_checks[:MOST_CHECKS] if self.workload is not None else ():
            if check.state != CHECKED:
                yield f"; {check.name}: {check.message or check.state}"

    @property
    def _assignments(self) -> tuple[PodSetAssignment, ...]:
        admission = self.workload.status.admission if self.workload is not None else None
        return admission.pod_set_assignments if admission is not None else ()
