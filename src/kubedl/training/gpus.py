"""How many GPUs a job wants, for its status. Pure."""

from collections.abc import Mapping

from kubedl.kube import codec
from kubedl.kube.codec import RawObject
from kubedl.kube.quantity import Quantity, whole
from kubedl.kube.types.meta import Record
from kubedl.training.job import Job

RESOURCE = "/gpu"  # the end of nvidia.com/gpu, amd.com/gpu and others
MARK = RESOURCE.encode()


class _Resources(Record, frozen=True):
    limits: Mapping[str, Quantity] | None = None


class _Container(Record, frozen=True):
    resources: _Resources | None = None


class _Spec(Record, frozen=True):
    containers: tuple[_Container, ...] | None = None


class _Template(Record, frozen=True):
    spec: _Spec


_TEMPLATE = codec.decoder(_Template)


def wanted_gpus(job: Job) -> int | None:
    """Return the GPUs of all replicas; None if the job wants none."""
    return sum(role.replicas * _gpus(role.template) for role in job.roles.values()) or None


def _gpus(template: RawObject) -> int:
    """Return the GPUs of one pod, by the limits of its containers: devices cannot be requested without a limit."""
    if MARK not in template.json:  # most templates of jobs without GPUs need not be decoded
        return 0
    try:
        containers = _TEMPLATE.decode(template.json).spec.containers or ()
        limits = [one.resources.limits or {} for one in containers if one.resources is not None]
        return sum(whole(count) for found in limits for name, count in found.items() if name.endswith(RESOURCE))
    except (ValueError, *codec.UNREADABLE):
        return 0  # such a pod is rejected elsewhere, with its reason
