"""A namespace whose pods lose their image volumes, and all mounts of them, as where the cluster does not know them.

Kubernetes 1.36 cannot be told to do so any more, so a policy of its API server does it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from testbed.api import Object
from testbed.cluster import Cluster
from tests.builders import pod
from tests.e2e.workspace import Workspace

PLACE = "/apis/admissionregistration.k8s.io/v1"
MOST = 4  # containers of a pod that are looked at


@contextmanager
def stripped(cluster: Cluster, namespace: str) -> Iterator[None]:
    """For as long as the block lasts."""
    name = f"strip-{namespace}"
    cluster.api.create(f"{PLACE}/mutatingadmissionpolicies", _policy(name, namespace))
    cluster.api.create(f"{PLACE}/mutatingadmissionpolicybindings", _object("Binding", name, {"policyName": name}))
    try:
        yield
    finally:
        cluster.api.delete(f"{PLACE}/mutatingadmissionpolicybindings/{name}")
        cluster.api.delete(f"{PLACE}/mutatingadmissionpolicies/{name}")


def is_stripped(workspace: Workspace, reference: str, base: str) -> bool:
    """Whether a pod's image volume is taken out; a new policy takes a moment to act."""
    body = pod("probe", base).mounting_image(reference, "/image").running("true").build()
    said = workspace.cluster.api.create(f"/api/v1/namespaces/{workspace.namespace}/pods?dryRun=All", body)
    return not any("image" in volume for volume in said["spec"].get("volumes", ()))


def _policy(name: str, namespace: str) -> Object:
    pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    volumes = "[JSONPatch{op: 'replace', path: '/spec/volumes', value: object.spec.volumes.filter(v, !has(v.image))}]"
    patches = " + ".join([volumes, *(_without_mounts(field) for field in ("containers", "initContainers"))])
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "resourceRules": [pods],
        },
        "matchConditions": [
            {
                "name": "has-an-image-volume",
                "expression": "has(object.spec.volumes) && object.spec.volumes.exists(v, has(v.image))",
            }
        ],
        "variables": [
            {"name": "images", "expression": "object.spec.volumes.filter(v, has(v.image)).map(v, v.name)"},
        ],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patches}}],
    }
    return _object("", name, spec)


def _without_mounts(field: str) -> str:
    """A patch for each container: CEL knows no positions, so as many are named as there may be."""
    one = f"object.spec.{field}[i]"
    there = f"has(object.spec.{field}) && i < size(object.spec.{field}) && has({one}.volumeMounts)"
    kept = f"{one}.volumeMounts.filter(m, !(m.name in variables.images))"
    patch = f"JSONPatch{{op: 'replace', path: '/spec/{field}/' + string(i) + '/volumeMounts', value: {kept}}}"
    return f"{list(range(MOST))}.filter(i, {there}).map(i, {patch})"


def _object(kind: str, name: str, spec: Object) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"MutatingAdmissionPolicy{kind}",
        "metadata": {"name": name},
        "spec": spec,
    }
