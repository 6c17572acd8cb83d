"""Kubernetes' own scheduler, with the feature gates GenericWorkload and GangScheduling (alpha in Kubernetes 1.36)."""

from typing import Any

from kubedl.api.training import RestartScope
from kubedl.kube.types.meta import Resource
from kubedl.schema.grants import Grant
from kubedl.training.gang.pod_group import PodGroup
from kubedl.training.gang.scheduler import Body, GangScheduler, GroupObject
from kubedl.training.kind import AuxiliaryObject

GROUP = "scheduling.k8s.io"
VERSIONS = ("v1beta1", "v1alpha2")
WHOLE_GROUP = {"v1alpha2": {"disruptionMode": "PodGroup"}}  # pods that restart together are preempted together


class Native(GangScheduler):
    """PodGroup without a Workload, which would only repeat it."""

    name = "native"
    kinds = tuple(Resource(GroupObject, "PodGroup", "podgroups", version, GROUP) for version in VERSIONS)
    grants = (Grant(GROUP, ("podgroups",), ("create",), "Declare the gangs of jobs to the Kubernetes scheduler."),)

    def declaration(self, group: PodGroup, served: Resource[Any], scope: RestartScope) -> AuxiliaryObject:
        """Return the PodGroup. Its priority is not derived from that of its pods, so it has both."""
        spec: Body = {"schedulingPolicy": {"gang": {"minCount": group.min_member}}}
        if group.priority_class:
            spec["priorityClassName"] = group.priority_class
        if group.topology_key:  # with it the scheduler tries every place as a whole, not the first pod's place only
            spec["schedulingConstraints"] = {"topology": [{"key": group.topology_key}]}
        if scope == "Job":
            spec |= WHOLE_GROUP.get(served.version, {})
        return AuxiliaryObject(served, group.name, {"spec": spec})

    def join(self, pod: Body, group: PodGroup) -> None:
        """By spec.schedulingGroup; the scheduler is the default one."""
        pod["spec"]["schedulingGroup"] = {"podGroupName": group.name}
