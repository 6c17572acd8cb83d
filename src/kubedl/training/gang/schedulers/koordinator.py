"""Koordinator."""

from kubedl.kube.types.core import Pod
from kubedl.kube.types.meta import Resource
from kubedl.training.gang.pod_group import PodGroup
from kubedl.training.gang.scheduler import Body, GangScheduler, GroupObject, annotate, use_scheduler

GANG = "gang.scheduling.koordinator.sh"


class Koordinator(GangScheduler):
    """Annotations of the pods declare the group, so the operator needs no right."""

    name = "koordinator"
    kinds = (Resource(GroupObject, "Reservation", "reservations", "v1alpha1", "scheduling.koordinator.sh"),)

    def join(self, pod: Body, group: PodGroup) -> None:
        """By annotations. By default a gang that was placed once never waits again, not even after a restart of all."""
        use_scheduler(pod, "koord-scheduler")
        settings = {
            "name": group.name,
            "min-available": str(group.min_member),
            "total-number": str(group.size),
            "match-policy": "waiting-and-running",
        }
        annotate(pod, "annotations", {f"{GANG}/{key}": value for key, value in settings.items()})

    def has_joined(self, pod: Pod, group: PodGroup) -> bool:
        """By the same."""
        return pod.metadata.annotations.get(f"{GANG}/name") == group.name
