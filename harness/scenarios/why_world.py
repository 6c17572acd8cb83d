"""The cluster for `why_causes`: namespaces whose admission refuses pods, queues, and a node without kubelet."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from harness.drivers import team_queue
from harness.drivers.api_connection import Connection
from harness.fakes.node import played_node
from harness.scenarios.why_objects import World
from testbed import namespaces
from testbed.api import Object
from testbed.cluster import Cluster

READER = "why-reader"
RBAC, ADMISSION = "/apis/rbac.authorization.k8s.io/v1", "/apis/admissionregistration.k8s.io/v1"
SPACES = ("quota", "needs", "limits", "restricted", "policy", "webhook")
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


@contextmanager
def prepared(cluster: Cluster, *, queues: bool = True) -> Iterator[World]:
    """A cluster that is ready for the situations; all that is in no namespace is removed afterwards."""
    with ExitStack() as stack:
        labels = {"restricted": {"pod-security.kubernetes.io/enforce": "restricted"}}
        own = stack.enter_context(namespaces.fresh(cluster.api, "why"))
        spaces = {
            one: stack.enter_context(namespaces.fresh(cluster.api, f"why-{one}", labels.get(one))) for one in SPACES
        }
        connection = stack.enter_context(Connection(cluster))
        world = World(connection, own, spaces, stack.enter_context(played_node(connection)))
        _admission(world)
        if queues:
            team_queue.publish_flavors(connection, own, {"type": "kwok"})
        for space in (own, *spaces.values()):
            _allow_reader(world, space)
        try:
            yield world
        finally:
            _remove(world)


def _admission(world: World) -> None:
    def make(space: str, plural: str, spec: Object) -> None:
        world.create(f"/api/v1/namespaces/{world.spaces[space]}/{plural}", {"metadata": {"name": "why"}, "spec": spec})

    make("quota", "resourcequotas", {"hard": {"pods": "0"}})
    make("needs", "resourcequotas", {"hard": {"limits.cpu": "4"}})
    make("limits", "limitranges", {"limits": [{"type": "Container", "max": {"cpu": "4"}}]})
    name, place = world.namespace, {"kubernetes.io/metadata.name": world.spaces["policy"]}
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [PODS]},
        "validations": [{"expression": "false", "message": "no pods today"}],
    }
    world.create(f"{ADMISSION}/validatingadmissionpolicies", {"metadata": {"name": name}, "spec": policy})
    binding = {
        "policyName": name,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchLabels": place}},
    }
    world.create(f"{ADMISSION}/validatingadmissionpolicybindings", {"metadata": {"name": name}, "spec": binding})
    hook = {
        "name": "why.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "clientConfig": {"service": {"name": "absent", "namespace": world.spaces["webhook"]}},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.spaces["webhook"]}},
        "rules": [PODS],
    }
    world.create(f"{ADMISSION}/validatingwebhookconfigurations", {"metadata": {"name": name}, "webhooks": [hook]})


def _allow_reader(world: World, space: str) -> None:
    """A user who may read everything in the namespaces, and nothing else."""
    role, binding = f"{RBAC}/namespaces/{space}/roles", f"{RBAC}/namespaces/{space}/rolebindings"
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}]
    world.create(role, {"metadata": {"name": "why"}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "why"}
    subject = {"kind": "User", "name": READER, "apiGroup": "rbac.authorization.k8s.io"}
    world.create(binding, {"metadata": {"name": "why"}, "roleRef": reference, "subjects": [subject]})


def _remove(world: World) -> None:
    for plural in (
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    ):
        world.connection.delete(f"{ADMISSION}/{plural}/{world.namespace}")
    for path in (f"/api/v1/nodes/cordoned-{world.namespace}", f"/api/v1/persistentvolumes/{world.namespace}-zone"):
        world.connection.delete(path)
