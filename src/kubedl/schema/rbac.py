"""RBAC manifests, rendered from grants. The reason of each becomes a comment."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kubedl.schema.crd import CustomResource
from kubedl.schema.grants import READ, VERBS, Grant
from kubedl.schema.yaml_documents import NOTICE, dump

API = "rbac.authorization.k8s.io"


def rules(grants: Iterable[Grant]) -> str:
    """Render a file of `rules` entries, each with its reasons as comments."""
    return NOTICE + "".join(_rules(grants))


def role(kind: str, name: str, grants: Iterable[Grant]) -> str:
    """Render a ClusterRole, or a Role for the namespace that it is applied to."""
    return NOTICE + _role(kind, {"name": name}, grants)


def view_rules(resources: Iterable[CustomResource]) -> list[Grant]:
    """Return the rules that are aggregated into the role view."""
    return _of_people(resources, READ, "View KubeDL's objects.")


def edit_rules(resources: Iterable[CustomResource]) -> list[Grant]:
    """Return the rules that are aggregated into the roles edit and admin."""
    resources = tuple(resources)
    scaled = [
        Grant(custom.resource.group, (f"{custom.resource.plural}/scale",), ("get", "update", "patch"), "kubectl scale.")
        for custom in resources
        if custom.scale is not None
    ]
    return [*_of_people(resources, VERBS, "Create and edit KubeDL's objects."), *scaled]


def user_roles(resources: Iterable[CustomResource]) -> str:
    """Render both, aggregated into the built-in roles."""
    resources = tuple(resources)
    return NOTICE + "".join(
        _role("ClusterRole", {"name": f"kubedl-{name}", "labels": _aggregated(*into)}, grants)
        for name, into, grants in (
            ("view", ("view",), view_rules(resources)),
            ("edit", ("edit", "admin"), edit_rules(resources)),
        )
    )


@dataclass
class _Need:
    verbs: set[str] = field(default_factory=set)
    reasons: set[str] = field(default_factory=set)


def _of_people(resources: Iterable[CustomResource], verbs: tuple[str, ...], reason: str) -> list[Grant]:
    groups: dict[str, list[str]] = defaultdict(list)
    for custom in resources:
        groups[custom.resource.group].append(custom.resource.plural)
    return [Grant(group, tuple(plurals), verbs, reason) for group, plurals in groups.items()]


def _role(kind: str, metadata: dict[str, Any], grants: Iterable[Grant]) -> str:
    head = dump({"apiVersion": f"{API}/v1", "kind": kind, "metadata": metadata})
    return f"---\n{head}rules:\n{''.join(_rules(grants))}"


def _rules(grants: Iterable[Grant]) -> Iterable[str]:
    """Render entries of `rules`, each with its reasons as comments."""
    needs: dict[tuple[str, tuple[str, ...], str], _Need] = defaultdict(_Need)
    for grant in grants:
        for resource in grant.resources:
            need = needs[grant.group, tuple(sorted(grant.names)), resource]
            need.verbs.update(grant.verbs)
            need.reasons.add(grant.reason)
    alike: dict[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, names, resource), need in sorted(needs.items(), key=lambda item: item[0]):
        verbs = tuple(verb for verb in VERBS if verb in need.verbs)
        alike[group, names, verbs, tuple(sorted(need.reasons))].append(resource)
    for (group, names, verbs, reasons), resources in alike.items():
        rule = {
            "apiGroups": [group],
            "resources": resources,
            **({"resourceNames": list(names)} if names else {}),
            "verbs": list(verbs),
        }
        yield "".join(f"# {' '.join(reason.split())}\n" for reason in reasons) + dump([rule])


def _aggregated(*roles: str) -> dict[str, str]:
    return {f"{API}/aggregate-to-{role}": "true" for role in roles}
