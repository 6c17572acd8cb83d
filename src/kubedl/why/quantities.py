"""Amounts of resources as people read them, and what pods ask for. Pure."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from kubedl.kube import pod_requests
from kubedl.kube.quantity import exact
from kubedl.why.evidence import Object, items_of, part_of

_UNITS = {"Ti": 2.0**40, "Gi": 2.0**30, "Mi": 2.0**20, "Ki": 2.0**10}
_BYTES = ("memory", "storage")


def number(quantity: object) -> float:
    """Return the value of a quantity; 0 if it is none."""
    return float(_exact(quantity))


def written(value: float, resource: str) -> str:
    """Return an amount of a resource as people write it."""
    if any(word in resource for word in _BYTES):
        for unit, size in _UNITS.items():
            if abs(value) >= size:
                return f"{value / size:.4g}{unit}"
    return f"{value:.4g}" if abs(value) < 1e6 else f"{value:.0f}"


def noun(resource: str, amount: float = 2) -> str:
    """Return a resource as people call it: GPUs, CPUs, memory."""
    short = resource.rpartition("/")[2]
    if short in ("gpu", "cpu"):
        return short.upper() + ("" if amount == 1 else "s")
    return resource


def requests_of(pod: Object) -> dict[str, float]:
    """Return what a pod asks for, as the scheduler counts it."""
    first = items_of(pod, "spec", "initContainers")
    total = pod_requests.total(
        map(_asked, items_of(pod, "spec", "containers")),
        [(_asked(container), container.get("restartPolicy") == "Always") for container in first],
        _amounts(part_of(pod, "spec", "overhead")),
    )
    return {name: float(amount) for name, amount in total.items()}


def _asked(container: Object) -> dict[str, Decimal]:
    """Return what a container asks for; a limit without a request is one."""
    return _amounts({**part_of(container, "resources", "limits"), **part_of(container, "resources", "requests")})


def _amounts(given: Mapping[str, object]) -> dict[str, Decimal]:
    return {name: _exact(value) for name, value in given.items()}


def _exact(quantity: object) -> Decimal:
    try:
        return exact(str(quantity))
    except ValueError:
        return Decimal(0)


def summed(amounts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Return the sum of several."""
    total: dict[str, float] = {}
    for one in amounts:
        for name, value in one.items():
            total[name] = total.get(name, 0.0) + value
    return total
