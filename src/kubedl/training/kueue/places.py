"""Where jobs are in their queue, and who holds the quota that they wait for.

Only the first `MOST_PLACED` of a LocalQueue have a position, in steps that grow, and only the first `MOST_TOLD` are
told who holds the quota: an admission changes the statuses of a few jobs, however many wait.

Of other namespaces only the number of Workloads is told: who may read a job may not know what else the cluster runs.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence

import msgspec

from kubedl.api.conditions import is_true
from kubedl.kube import quantity
from kubedl.kube.types.meta import NOTHING, ObjectKey, ObjectMeta, Record
from kubedl.runtime.store import Store
from kubedl.training.kueue.types import Workload

PENDING, HOLDING = "pending", "holding"  # names of the indexes of Workloads
MOST_PLACED, MOST_TOLD = 100, 10
STEPS = (20, 50, MOST_PLACED)  # positions from 11 on are told in these steps
DIGITS = "0123456789"
MOST_HOLDERS, MOST_RESOURCES = 3, 3  # that are named


class Holder(Record, frozen=True):
    """A job of the same namespace that holds quota."""

    name: str  # with its kind
    usage: Mapping[str, str] = NOTHING  # quantity by resource


class Place(Record, frozen=True):
    """What is known about one waiting Workload: the metadata is the Workload's."""

    metadata: ObjectMeta = ObjectMeta()
    position: str = ""  # in words; empty if Kueue does not tell
    holders: tuple[Holder, ...] | None = None  # None if the job is too far behind to be told
    others: int = 0  # further Workloads that hold quota


class Places:
    """The places of all waiting Workloads. A change of one in `store` is a reason to look at its job again."""

    def __init__(self) -> None:
        self.store: Store[Place] = Store()
        self._behind: dict[ObjectKey, str] = {}  # position of those without a place, by LocalQueue
        self._members: dict[ObjectKey, set[ObjectKey]] = {}  # those with a place, by LocalQueue
        self._number = 0

    def of(self, workload: Workload) -> Place | None:
        """Return the place of a Workload; None if its queue was not asked about yet."""
        place = self.store.get(workload.metadata.key)
        if place is not None and place.metadata.uid == workload.metadata.uid:
            return place
        behind = self._behind.get(queue_key(workload))
        return Place(position=behind) if behind is not None else None

    def replace(self, queue: ObjectKey, places: Iterable[Place], behind: str = "") -> None:
        """Replace what is known about a LocalQueue; only places that differ are changes."""
        self._behind[queue] = behind
        kept = set()
        for place in places:
            kept.add(place.metadata.key)
            old = self.store.get(place.metadata.key)
            if old is None or _without_version(old) != _without_version(place):
                self._number += 1
                self.store.put(_with_version(place, str(self._number)))
        self._drop(queue, kept)

    def forget(self, queue: ObjectKey) -> None:
        """Nothing waits in this LocalQueue any more."""
        self._behind.pop(queue, None)
        self._drop(queue, set())

    def _drop(self, queue: ObjectKey, kept: set[ObjectKey]) -> None:
        known = self._members.pop(queue, set())
        for key in known - kept:
            self.store.remove(key)
        if kept:
            self._members[queue] = kept

    def __len__(self) -> int:
        return len(self._behind)


def queue_key(workload: Workload) -> ObjectKey:
    """Return the key of the LocalQueue of a Workload."""
    return ObjectKey(workload.metadata.namespace, workload.spec.queue_name)


def pending_in(workload: Workload) -> Hashable | None:
    """Index: the LocalQueue in which a Workload waits for quota."""
    conditions = workload.status.conditions
    waits = workload.spec.active and workload.status.admission is None and not is_true(conditions, "Finished")
    return queue_key(workload) if waits else None


def holding_in(workload: Workload) -> Hashable | None:
    """Index: the namespace and the ClusterQueue in which a Workload holds quota."""
    admission = workload.status.admission
    holds = admission is not None and not is_true(workload.status.conditions, "Finished")
    return (workload.metadata.namespace, admission.cluster_queue) if holds and admission is not None else None


def owner_name(workload: Workload) -> str:
    """Return kind and name of the job of a Workload."""
    owner = workload.metadata.controller
    return f"{owner.kind} {owner.name}" if owner is not None else f"Workload {workload.metadata.name}"


def holder(workload: Workload) -> Holder:
    """Return what a Workload holds, over all its roles."""
    admission = workload.status.admission
    usage: dict[str, list[str]] = {}
    for one in admission.pod_set_assignments if admission is not None else ():
        for resource, amount in one.resource_usage.items():
            usage.setdefault(resource, []).append(amount)
    return Holder(name=owner_name(workload), usage={name: total(usage[name]) for name in sorted(usage)})


def total(amounts: Sequence[str]) -> str:
    """Return the sum of quantities: in their unit if they have the same one, else rounded up."""
    unit = amounts[0].lstrip(DIGITS)
    try:
        if "." not in unit and all(one.lstrip(DIGITS) == unit for one in amounts):
            return f"{sum(int(one.removesuffix(unit)) for one in amounts)}{unit}"
        return str(sum(map(quantity.whole, amounts)))
    except ValueError:
        return "some"


def in_steps(position: int) -> str:
    """Return a position, counted from 1, in words: those behind the first ten in steps."""
    if position <= MOST_TOLD:
        return str(position)
    first = MOST_TOLD + 1
    for last in STEPS:
        if position <= last:
            return f"{first} to {last}"
        first = last + 1
    return f"over {MOST_PLACED}"


def describe_holders(place: Place, kueue_message: str) -> str:
    """Return who holds the quota that Kueue's message says is missing; empty if nobody is known to."""
    held = place.holders or ()
    missing = {name for one in held for name in one.usage if f"quota for {name} in flavor " in kueue_message}
    held = tuple(one for one in held if not missing or missing & one.usage.keys())
    # Those of other resources are not told, but they are no others.
    named = [_holder_text(one, missing) for one in held[:MOST_HOLDERS]]
    more = len(held) - len(named) + place.others
    if more:
        named.append(f"{more} {'other workload' if more == 1 else 'other workloads'}")
    if len(named) > 1:
        named[-2:] = [f"{named[-2]} and {named[-1]}"]
    return ", ".join(named)


def _holder_text(one: Holder, missing: set[str]) -> str:
    resources = [name for name in one.usage if not missing or name in missing]
    amounts = ", ".join(f"{one.usage[name]} {name}" for name in resources[:MOST_RESOURCES])
    return f"{one.name} ({amounts})" if amounts else one.name


def _without_version(place: Place) -> Place:
    return _with_version(place, "")


def _with_version(place: Place, version: str) -> Place:
    return msgspec.structs.replace(place, metadata=msgspec.structs.replace(place.metadata, resource_version=version))
