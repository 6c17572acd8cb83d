"""Volcano."""

from typing import Any

from kubedl.api.training import RestartScope
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import Resource
from kubedl.schema.grants import Grant
from kubedl.training.gang.pod_group import PodGroup
from kubedl.training.gang.scheduler import Body, GangScheduler, GroupObject, annotate, use_scheduler
from kubedl.training.kind import AuxiliaryObject

GROUP = "scheduling.volcano.sh"
DEFAULT_QUEUE = "default"
MEMBER = "scheduling.k8s.io/group-name"  # annotation


class Volcano(GangScheduler):
    """PodGroup with a queue."""

    name = "volcano"
    kinds = (Resource(GroupObject, "PodGroup", "podgroups", "v1beta1", GROUP),)
    grants = (Grant(GROUP, ("podgroups",), ("create",), "Declare the gangs of jobs to Volcano."),)
    has_queues = True

    def declaration(self, group: PodGroup, served: Resource[Any], scope: RestartScope) -> AuxiliaryObject:
        """Return the PodGroup, without minResources: a group that has them never preempts on a full cluster."""
        spec: Body = {"minMember": group.min_member, "queue": group.queue or DEFAULT_QUEUE}
        if group.priority_class:
            spec["priorityClassName"] = group.priority_class
        return AuxiliaryObject(served, group.name, {"spec": spec})

    def join(self, pod: Body, group: PodGroup) -> None:
        """By annotation."""
        use_scheduler(pod, "volcano")
        annotate(pod, "annotations", {MEMBER: group.name})

    def has_joined(self, pod: Pod, group: PodGroup) -> bool:
        """By the same."""
        return pod.metadata.annotations.get(MEMBER) == group.name
