"""What a pod of a template requests, counted as Kubernetes counts it. Pure."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from kubedl.kube import pod_requests, quantity
from kubedl.podspec.template import TemplateError


def requested(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the requests of a pod by resource. Raises TemplateError for what is no quantity."""
    try:
        first = spec.get("initContainers") or ()
        total = pod_requests.total(
            map(_of_container, spec["containers"]),
            [(_of_container(container), container.get("restartPolicy") == "Always") for container in first],
            _amounts(spec.get("overhead")),
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise TemplateError(f"the resources of the template: {error}") from error
    return {name: quantity.written(amount) for name, amount in sorted(total.items())}


def _of_container(container: Mapping[str, Any]) -> dict[str, Decimal]:
    """Return the requests of a container; a limit without a request is one."""
    resources = container.get("resources") or {}
    return _amounts(resources.get("limits")) | _amounts(resources.get("requests"))


def _amounts(given: Mapping[str, Any] | None) -> dict[str, Decimal]:
    return {str(name): quantity.exact(amount) for name, amount in (given or {}).items()}
