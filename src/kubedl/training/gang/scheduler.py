"""What a gang scheduler is: how a group of pods is declared to it, and how a pod joins its group.

One module with one subclass is a gang scheduler; other packages register theirs under the entry-point group
`kubedl.gang_schedulers`. Whether a group is placed is read from its pods, which every scheduler binds: the conditions
of its own objects differ, and some are never taken back.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from kubedl.api.training import RestartScope
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import ObjectMeta, Record, Resource
from kubedl.schema.grants import Grant
from kubedl.training.gang.pod_group import PodGroup
from kubedl.training.kind import AuxiliaryObject

Body = dict[str, Any]


class GroupObject(Record, frozen=True):
    """An object that declares a group; only its name is read."""

    metadata: ObjectMeta = ObjectMeta()


class GangScheduler(ABC):
    """A scheduler that places groups of pods. Subclasses are immutable and have no arguments."""

    name: ClassVar[str]  # as in --gang-scheduler and schedulingPolicy.gangScheduler
    kinds: ClassVar[tuple[Resource[Any], ...]] = ()  # that only it has, the newest version first; () if it has none
    grants: ClassVar[tuple[Grant, ...]] = ()
    has_queues: ClassVar[bool] = False  # whether schedulingPolicy.queue is one of its own queues
    is_retried: ClassVar[bool] = False  # whether it forgets a waiting group until its object changes

    def declaration(self, group: PodGroup, served: Resource[Any], scope: RestartScope) -> AuxiliaryObject | None:
        """Return the object that declares a group, to be created before its pods; None if the pods declare it.

        `served` is the first of `kinds` that the cluster serves.
        """
        return None

    @abstractmethod
    def join(self, pod: Body, group: PodGroup) -> None:
        """Make a pod a member of a group."""

    def has_joined(self, pod: Pod, group: PodGroup) -> bool:
        """Return whether a pod is a member: it may be older than the group, or than the choice of this scheduler."""
        return True


@dataclass(frozen=True)
class InstalledScheduler:
    """A gang scheduler that the cluster has, and the first of its kinds that is served."""

    scheduler: GangScheduler
    served: Resource[Any] | None = None


@dataclass(frozen=True)
class Gang:
    """A group of pods, and who schedules it."""

    by: InstalledScheduler
    group: PodGroup

    def declaration(self, scope: RestartScope) -> AuxiliaryObject | None:
        """Return the object that declares the group; None if its pods do."""
        if self.by.served is None:
            return None
        return self.by.scheduler.declaration(self.group, self.by.served, scope)

    def join(self, pod: Body) -> None:
        """Make a pod a member."""
        self.by.scheduler.join(pod, self.group)


def use_scheduler(pod: Body, name: str) -> None:
    """Set the scheduler of a pod whose template names none."""
    pod["spec"]["schedulerName"] = pod["spec"].get("schedulerName") or name


def annotate(pod: Body, field: str, values: dict[str, str]) -> None:
    """Set labels or annotations of a pod."""
    pod["metadata"][field] = {**(pod["metadata"].get(field) or {}), **values}
