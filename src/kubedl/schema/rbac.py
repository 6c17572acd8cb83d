"""What a process may do in the cluster, made from what its controllers say they need.

Every right has a reason, which stands beside it in the file. There are no wildcards: a right that nobody asked for by
name is a right that nobody can explain.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubedl.schema.crd import CustomResource
from kubedl.schema.manifest import NOTICE, dump

READ = ("get", "list", "watch")
VERBS = (*READ, "create", "update", "patch", "delete", "deletecollection")  # in the order in which they are written
API = "rbac.authorization.k8s.io"


@dataclass(frozen=True)
class Grant:
    """A right that a controller needs, and what for."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    reason: str
    names: tuple[str, ...] = ()  # only objects of these names; create, list and watch cannot be limited so
    cluster_scoped: bool = False  # the objects are in no namespace, so no namespace's Role can grant them

    def __post_init__(self) -> None:
        if not (self.resources and self.verbs and self.reason):
            raise ValueError(f"{self}: a grant has resources, verbs and a reason")
        if "*" in (self.group, *self.resources):
            raise ValueError(f"{self}: no wildcards; name what is needed")
        if unknown := set(self.verbs) - set(VERBS):
            raise ValueError(f"{self}: {', '.join(sorted(unknown))} is none of {', '.join(VERBS)}")


def cluster_role(name: str, grants: Iterable[Grant]) -> str:
    """The file of a ClusterRole: rights in every namespace."""
    return NOTICE + _role("ClusterRole", {"name": name}, grants)


def namespaced_roles(name: str, namespaces: Sequence[str], grants: Iterable[Grant]) -> str:
    """The file for a process that serves some namespaces: a Role in each, and a ClusterRole for what is in none."""
    grants = tuple(grants)
    everywhere = [grant for grant in grants if grant.cluster_scoped]
    inside = [grant for grant in grants if not grant.cluster_scoped]
    roles = [_role("Role", {"name": name, "namespace": namespace}, inside) for namespace in sorted(namespaces)]
    return NOTICE + "".join([*([_role("ClusterRole", {"name": name}, everywhere)] if everywhere else []), *roles])


def roles_of_people(resources: Iterable[CustomResource]) -> str:
    """The file that lets whoever may view or edit a namespace's pods view or edit our objects there too."""
    groups: dict[str, list[str]] = defaultdict(list)
    for custom in resources:
        groups[custom.resource.group].append(custom.resource.plural)
    view = [Grant(group, tuple(plurals), READ, "Look at our objects.") for group, plurals in groups.items()]
    edit = [Grant(group, tuple(plurals), VERBS, "Work with our objects.") for group, plurals in groups.items()]
    return NOTICE + "".join(
        _role("ClusterRole", {"name": f"kubedl-{name}", "labels": _aggregated(*into)}, grants)
        for name, into, grants in (("view", ("view",), view), ("edit", ("edit", "admin"), edit))
    )


@dataclass
class _Need:
    verbs: set[str] = field(default_factory=set)
    reasons: set[str] = field(default_factory=set)


def _role(kind: str, metadata: dict[str, Any], grants: Iterable[Grant]) -> str:
    head = dump({"apiVersion": f"{API}/v1", "kind": kind, "metadata": metadata})
    return f"---\n{head}rules:\n{''.join(_rules(grants))}"


def _rules(grants: Iterable[Grant]) -> Iterable[str]:
    """Entries of `rules`, each with its reasons above it."""
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
