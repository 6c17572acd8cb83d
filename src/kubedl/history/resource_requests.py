"""What pods request: millicores, bytes and GPUs, as the scheduler counts them."""

import math
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal

from kubedl.history.observed import Amounts, RecordedContainer, TemplateSpec
from kubedl.kube import pod_requests
from kubedl.kube.quantity import exact

MOST = 2**63 - 1  # of a BIGINT


@dataclass(frozen=True, slots=True)
class Requests:
    """CPU in thousandths, memory in bytes, GPUs of any vendor."""

    cpu_millis: int = 0
    memory_bytes: int = 0
    gpus: int = 0

    def times(self, number: int) -> "Requests":
        """Return the requests of several pods, bounded to what a column holds."""
        return Requests(
            min(self.cpu_millis * number, MOST), min(self.memory_bytes * number, MOST), min(self.gpus * number, MOST)
        )


def of_pod(spec: TemplateSpec) -> Requests:
    """Return the requests of a pod."""
    first = [(_of_container(container), container.restart_policy == "Always") for container in spec.init_containers]
    return _requests(pod_requests.total(map(_of_container, spec.containers), first, _exact(spec.overhead)))


def of_amounts(amounts: Amounts) -> Requests:
    """Return the requests in a list of resources."""
    return _requests(_exact(amounts))


def is_gpu(resource: str) -> bool:
    """Return whether an extended resource is a GPU: `nvidia.com/gpu`, `amd.com/gpu`, `nvidia.com/mig-1g.5gb`."""
    vendor, slash, name = resource.partition("/")
    return bool(slash) and (name in ("gpu", "i915", "xe") or (vendor == "nvidia.com" and name.startswith("mig-")))


def _requests(amounts: pod_requests.Amounts) -> Requests:
    cpu, memory = amounts.get("cpu", Decimal(0)), amounts.get("memory", Decimal(0))
    gpus = sum(math.ceil(amount) for name, amount in amounts.items() if is_gpu(name))
    return Requests(math.ceil(cpu * 1000), math.ceil(memory), gpus).times(1)


def _of_container(container: RecordedContainer) -> dict[str, Decimal]:
    # A limit without a request is one.
    return _exact({**container.resources.limits, **container.resources.requests})


def _exact(amounts: Amounts) -> dict[str, Decimal]:
    """Return the quantities as numbers; one that cannot be read counts as nothing."""
    found = {}
    for name, amount in amounts.items():
        with suppress(ValueError, ArithmeticError):
            found[name] = exact(amount)
    return found
