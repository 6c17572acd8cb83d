"""What a process may do in the cluster, made from what its controllers say they need.

Every right has a reason, which stands beside it in the file. There are no wildcards: a right that nobody asked for by
name is a right that nobody can explain. Nor can anybody ask to read Secrets, to enter pods, or to hand out rights.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kubedl.schema.crd import CustomResource
from kubedl.schema.manifest import NOTICE, dump

FOLLOW = ("list", "watch")  # what a cache needs
READ = ("get", *FOLLOW)
VERBS = (*READ, "create", "update", "patch", "delete", "deletecollection")  # in the order in which they are written
INTO_PODS = frozenset({"pods/attach", "pods/exec", "pods/portforward", "pods/proxy"})
API = "rbac.authorization.k8s.io"
EFS = "efs"  # a feature: models in AWS EFS, which an administrator allows by naming file systems


@dataclass(frozen=True)
class Grant:
    """A right that a controller needs, and what for."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    reason: str
    names: tuple[str, ...] = ()  # only objects of these names; create, list and watch cannot be limited so
    cluster_scoped: bool = False  # the objects are in no namespace, so no namespace's Role can grant them
    own_namespace: bool = False  # only where the process keeps what is its own, never where it serves
    feature: str = ""  # granted only where the administrator switched this on

    def __post_init__(self) -> None:
        if not (self.resources and self.verbs and self.reason):
            raise ValueError(f"{self}: a grant has resources, verbs and a reason")
        if "*" in (self.group, *self.resources):
            raise ValueError(f"{self}: no wildcards; name what is needed")
        if "secrets" in self.resources and set(READ) & set(self.verbs):
            raise ValueError(f"{self}: no process of ours reads Secrets")
        if set(self.resources) & INTO_PODS:
            raise ValueError(f"{self}: no process of ours goes into pods")
        if unknown := set(self.verbs) - set(VERBS):
            raise ValueError(f"{self}: {', '.join(sorted(unknown))} is none of {', '.join(VERBS)}")


def served(grants: Iterable[Grant]) -> list[Grant]:
    """Rights in the namespaces that a process serves."""
    return [grant for grant in grants if not (grant.cluster_scoped or grant.own_namespace or grant.feature)]


def outside(grants: Iterable[Grant]) -> list[Grant]:
    """Rights to objects that are in no namespace, which a process with Roles alone goes without."""
    return [grant for grant in grants if grant.cluster_scoped and not grant.feature]


def of_feature(grants: Iterable[Grant], feature: str) -> list[Grant]:
    """Further rights, in served namespaces and in none, where a feature is on."""
    return [grant for grant in grants if grant.feature == feature]


def own(grants: Iterable[Grant]) -> list[Grant]:
    """Rights in the namespace where a process keeps what is its own."""
    return [grant for grant in grants if grant.own_namespace]


def rules(grants: Iterable[Grant]) -> str:
    """A file of the entries of a role's `rules`, each with its reasons above it."""
    return NOTICE + "".join(_rules(grants))


def role(kind: str, name: str, grants: Iterable[Grant]) -> str:
    """A file of a ClusterRole, or of a Role for the namespace in which it is applied."""
    return NOTICE + _role(kind, {"name": name}, grants)


def viewers(resources: Iterable[CustomResource]) -> list[Grant]:
    """What whoever may view a namespace's pods may do with our objects there."""
    return _of_people(resources, READ, "Look at our objects.")


def editors(resources: Iterable[CustomResource]) -> list[Grant]:
    """What whoever may edit a namespace's pods may do with our objects there."""
    resources = tuple(resources)
    scaled = [
        Grant(custom.resource.group, (f"{custom.resource.plural}/scale",), ("get", "update", "patch"), "kubectl scale.")
        for custom in resources
        if custom.scale is not None
    ]
    return [*_of_people(resources, VERBS, "Work with our objects."), *scaled]


def roles_of_people(resources: Iterable[CustomResource]) -> str:
    """A file that gives both, by aggregation into the roles that every cluster has."""
    resources = tuple(resources)
    return NOTICE + "".join(
        _role("ClusterRole", {"name": f"kubedl-{name}", "labels": _aggregated(*into)}, grants)
        for name, into, grants in (
            ("view", ("view",), viewers(resources)),
            ("edit", ("edit", "admin"), editors(resources)),
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
