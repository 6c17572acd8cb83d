"""What pods request: millicores, bytes and GPUs, as the scheduler counts them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kubedl.history.observed import Amounts, RecordedContainer, TemplateSpec
from kubedl.kube.quantity import Quantity, millis, whole

MOST = 2**63 - 1  # of a BIGINT


@dataclass(frozen=True, slots=True)
class Requests:
    """CPU in thousandths, memory in bytes, GPUs of any vendor."""

    cpu_millis: int = 0
    memory_bytes: int = 0
    gpus: int = 0

    def __add__(self, other: "Requests") -> "Requests":
        return Requests(
            self.cpu_millis + other.cpu_millis, self.memory_bytes + other.memory_bytes, self.gpus + other.gpus
        )

    def at_least(self, other: "Requests") -> "Requests":
        """Return the larger of each."""
        return Requests(
            max(self.cpu_millis, other.cpu_millis),
            max(self.memory_bytes, other.memory_bytes),
            max(self.gpus, other.gpus),
        )

    def times(self, number: int) -> "Requests":
        """Return the requests of several pods, bounded to what a column holds."""
        return Requests(
            min(self.cpu_millis * number, MOST), min(self.memory_bytes * number, MOST), min(self.gpus * number, MOST)
        )


def of_pod(spec: TemplateSpec) -> Requests:
    """Return the requests of a pod: containers and sidecars together, or more if an init container asks for more."""
    sidecars = [container for container in spec.init_containers if container.restart_policy == "Always"]
    first = [container for container in spec.init_containers if container.restart_policy != "Always"]
    total = _sum((*spec.containers, *sidecars))
    for container in first:
        total = total.at_least(_of_container(container))
    return total.times(1)


def of_amounts(amounts: Amounts) -> Requests:
    """Return the requests in a list of resources. Quantities that cannot be read count as nothing."""
    gpus = sum(_number(amount, whole) for name, amount in amounts.items() if is_gpu(name))
    return Requests(_number(amounts.get("cpu", 0), millis), _number(amounts.get("memory", 0), whole), gpus).times(1)


def is_gpu(resource: str) -> bool:
    """Return whether an extended resource is a GPU: `nvidia.com/gpu`, `amd.com/gpu`, `nvidia.com/mig-1g.5gb`."""
    vendor, slash, name = resource.partition("/")
    return bool(slash) and (name in ("gpu", "i915", "xe") or (vendor == "nvidia.com" and name.startswith("mig-")))


def _sum(containers: Iterable[RecordedContainer]) -> Requests:
    total = Requests()
    for container in containers:
        total += _of_container(container)
    return total


def _of_container(container: RecordedContainer) -> Requests:
    # A limit without a request is one.
    return of_amounts({**container.resources.limits, **container.resources.requests})


def _number(amount: Quantity, read: Callable[[Quantity], int]) -> int:
    try:
        return read(amount)
    except (ValueError, ArithmeticError):
        return 0
