"""Apache YuniKorn."""

from kubedl.kube.codec import encode
from kubedl.kube.types.core import Pod
from kubedl.training import template
from kubedl.training.gang.pod_group import Members, PodGroup
from kubedl.training.gang.pod_resources import requested
from kubedl.training.gang.scheduler import Body, GangScheduler, annotate, use_scheduler
from kubedl.training.labels import REPLICA_TYPE

DOMAIN = "yunikorn.apache.org"
APPLICATION = "applicationId"  # label
# Where placeholders may run: where the pods may.
PLACEMENT = ("affinity", "nodeSelector", "tolerations", "topologySpreadConstraints")
# Else it schedules the pods one by one when it could not place all of them in 15 minutes.
ALL_OR_NONE = "gangSchedulingStyle=Hard"


class YuniKorn(GangScheduler):
    """Annotations of the pods declare the group; placeholders that YuniKorn makes from them are placed first.

    It has no API by which it can be found, so it is used only where it is named.
    """

    name = "yunikorn"
    has_queues = True

    def join(self, pod: Body, group: PodGroup) -> None:
        """As an application of its own in each attempt: one that has run gets no placeholders again.

        Every pod declares all task groups, one for each role, since any of them may be the first that is seen.
        """
        use_scheduler(pod, "yunikorn")
        annotate(pod, "labels", {APPLICATION: _application(group)})
        settings = {
            "schedulingPolicyParameters": ALL_OR_NONE,
            "task-groups": encode([_task_group(members) for members in group.members]).decode(),
        }
        settings |= {"queue": group.queue} if group.queue else {}
        role = pod["metadata"]["labels"][REPLICA_TYPE]
        if any(members.role.lower() == role for members in group.members):
            settings["task-group-name"] = role
        annotate(pod, "annotations", {f"{DOMAIN}/{key}": value for key, value in settings.items()})

    def has_joined(self, pod: Pod, group: PodGroup) -> bool:
        """By the application."""
        return pod.metadata.labels.get(APPLICATION) == _application(group)


def _application(group: PodGroup) -> str:
    return f"{group.name}-{group.attempt}"


def _task_group(members: Members) -> Body:
    spec = template.read(members.role, members.template)["spec"]
    return {
        "name": members.role.lower(),
        "minMember": members.least,
        "minResource": requested(spec),
        **{field: spec[field] for field in PLACEMENT if spec.get(field)},
    }
