"""Grants: the permissions that controllers declare, each with its reason.

Wildcards are rejected, so that every permission can be explained; so are reading Secrets, exec into pods, and
permissions on RBAC itself. Kinds declare grants too, so this module imports nothing heavy; `rbac` renders them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

FOLLOW = ("list", "watch")  # the verbs of an informer
READ = ("get", *FOLLOW)
VERBS = (*READ, "create", "update", "patch", "delete", "deletecollection")  # in the order in which they are rendered
INTO_PODS = frozenset({"pods/attach", "pods/exec", "pods/portforward", "pods/proxy"})
EFS = "efs"  # a feature: models in AWS EFS, enabled by naming file systems
LOGS = "logs"  # a feature: the recorder archives logs of pods


@dataclass(frozen=True)
class Grant:
    """A permission that a controller needs, with the reason."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    reason: str
    names: tuple[str, ...] = ()  # only objects with these names; not possible for create, list and watch
    cluster_scoped: bool = False  # the objects are cluster-scoped, so a Role cannot grant them
    own_namespace: bool = False  # only in the namespace of the process itself, not in those it serves
    feature: str = ""  # granted only if the administrator enabled this feature

    def __post_init__(self) -> None:
        if not (self.resources and self.verbs and self.reason):
            raise ValueError(f"{self}: a grant needs resources, verbs and a reason")
        if "*" in (self.group, *self.resources):
            raise ValueError(f"{self}: wildcards are not allowed; name the resources")
        if "secrets" in self.resources and set(READ) & set(self.verbs):
            raise ValueError(f"{self}: reading Secrets is not allowed")
        if set(self.resources) & INTO_PODS:
            raise ValueError(f"{self}: exec into pods is not allowed")
        if unknown := set(self.verbs) - set(VERBS):
            raise ValueError(f"{self}: {', '.join(sorted(unknown))} is none of {', '.join(VERBS)}")


def served(grants: Iterable[Grant]) -> list[Grant]:
    """Return the permissions in the namespaces that a process serves."""
    return [grant for grant in grants if not (grant.cluster_scoped or grant.own_namespace or grant.feature)]


def outside(grants: Iterable[Grant]) -> list[Grant]:
    """Return the permissions on cluster-scoped objects, which a process with Roles only does not have."""
    return [grant for grant in grants if grant.cluster_scoped and not grant.feature]


def of_feature(grants: Iterable[Grant], feature: str) -> list[Grant]:
    """Return additional permissions of a feature, namespaced and cluster-scoped."""
    return [grant for grant in grants if grant.feature == feature]


def own(grants: Iterable[Grant]) -> list[Grant]:
    """Return the permissions in the namespace of the process itself."""
    return [grant for grant in grants if grant.own_namespace]
