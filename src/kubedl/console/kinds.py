"""The kinds in the console's cache, and the permissions that follow from them."""

from functools import cache
from typing import Any

from kubedl.api.training import GROUP
from kubedl.history.observed import RecordedJob, resource_of_jobs
from kubedl.history.observed_pods import EVENTS
from kubedl.kube.types.core import Pod, PodSpec
from kubedl.kube.types.meta import Record, Resource
from kubedl.schema.grants import FOLLOW, Grant
from kubedl.training.kinds import all_kinds

POD_LABEL = f"{GROUP}/job-name"  # the label that all pods of jobs have


class Named(Record, frozen=True):
    """A container. Commands and environment variables are not decoded, so they cannot be shown."""

    name: str = ""


class ShownPodSpec(PodSpec, frozen=True):
    """Node and containers of a pod."""

    containers: tuple[Named, ...] = ()

    def names(self) -> tuple[str, ...]:
        """Return the names of all containers, those of the program first."""
        return (*(one.name for one in self.containers), *(one.name for one in self.init_containers))


class ShownPod(Pod, frozen=True):
    """A pod of a job."""

    spec: ShownPodSpec = ShownPodSpec()


PODS = Resource(ShownPod, "Pod", "pods")


@cache
def job_resources() -> dict[str, Resource[RecordedJob]]:
    """Return the kinds of jobs, by their name in addresses: the kind in small letters."""
    return {kind.kind.lower(): resource_of_jobs(kind.resource, kind.replicas_field) for kind in all_kinds()}


def grants() -> tuple[Grant, ...]:
    """Return the permissions of the console itself. It changes nothing: people act with their own tokens."""
    cached: tuple[Resource[Any], ...] = (*job_resources().values(), PODS, EVENTS)
    return (
        *(Grant(one.group, (one.plural,), FOLLOW, "Show jobs to those who may list them.") for one in cached),
        Grant(
            "authentication.k8s.io", ("tokenreviews",), ("create",), "Find out whose token it is.", cluster_scoped=True
        ),
        Grant(
            "authorization.k8s.io",
            ("subjectaccessreviews",),
            ("create",),
            "Find out what a person may see.",
            cluster_scoped=True,
        ),
    )
