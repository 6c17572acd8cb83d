"""What a pod of a template requests, counted as Kubernetes counts it. Pure."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from kubedl.kube import quantity
from kubedl.podspec.template import TemplateError

Amounts = dict[str, Decimal]


def requested(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the requests of a pod by resource. Raises TemplateError for what is no quantity.

    Init containers run one after the other, before the containers and beside sidecars that were started earlier.
    """
    try:
        sidecars: Amounts = {}
        highest: Amounts = {}
        for container in spec.get("initContainers") or ():
            own = _of_container(container)
            highest = _highest(highest, _sum((sidecars, own)))
            if container.get("restartPolicy") == "Always":
                sidecars = _sum((sidecars, own))
        running = _sum((sidecars, *map(_of_container, spec["containers"])))
        total = _sum((_highest(highest, running), _amounts(spec.get("overhead"))))
    except (AttributeError, TypeError, ValueError) as error:
        raise TemplateError(f"the resources of the template: {error}") from error
    return {name: quantity.written(amount) for name, amount in sorted(total.items())}


def _of_container(container: Mapping[str, Any]) -> Amounts:
    """Return the requests of a container; a limit without a request is one."""
    resources = container.get("resources") or {}
    return _amounts(resources.get("limits")) | _amounts(resources.get("requests"))


def _amounts(given: Mapping[str, Any] | None) -> Amounts:
    return {str(name): quantity.exact(amount) for name, amount in (given or {}).items()}


def _sum(parts: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, Decimal(0)) + amount
    return total


def _highest(one: Amounts, other: Amounts) -> Amounts:
    return {name: max(one.get(name, Decimal(0)), other.get(name, Decimal(0))) for name in {*one, *other}}
