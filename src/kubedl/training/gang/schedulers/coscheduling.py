"""The Coscheduling plugin of kubernetes-sigs/scheduler-plugins."""

from typing import Any

from kubedl.api.training import RestartScope
from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import Resource
from kubedl.schema.grants import Grant
from kubedl.training.gang.pod_group import PodGroup
from kubedl.training.gang.scheduler import Body, GangScheduler, GroupObject, annotate, use_scheduler
from kubedl.training.kind import AuxiliaryObject

GROUP = "scheduling.x-k8s.io"
MEMBER = f"{GROUP}/pod-group"  # label


class Coscheduling(GangScheduler):
    """PodGroup, touched while it waits: the plugin does not retry a group when other pods go away."""

    name = "coscheduling"
    kinds = (Resource(GroupObject, "PodGroup", "podgroups", "v1alpha1", GROUP),)
    grants = (
        Grant(GROUP, ("podgroups",), ("create", "patch"), "Declare the gangs of jobs to Coscheduling, and retry them."),
    )
    is_retried = True

    def declaration(self, group: PodGroup, served: Resource[Any], scope: RestartScope) -> AuxiliaryObject:
        """Return the PodGroup."""
        return AuxiliaryObject(served, group.name, {"spec": {"minMember": group.min_member}})

    def join(self, pod: Body, group: PodGroup) -> None:
        """By label. Its scheduler has this name in the charts of scheduler-plugins."""
        use_scheduler(pod, "scheduler-plugins-scheduler")
        annotate(pod, "labels", {MEMBER: group.name})

    def has_joined(self, pod: Pod, group: PodGroup) -> bool:
        """By the same."""
        return pod.metadata.labels.get(MEMBER) == group.name
