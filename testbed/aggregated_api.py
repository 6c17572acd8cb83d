"""An API that a host process serves behind the API server: its Service, its APIService, and its rights to be one."""

from testbed.api import Api, Object
from testbed.dns_and_registry import RBAC
from testbed.instance import Instance

DELEGATOR, READER = "system:auth-delegator", "extension-apiserver-authentication-reader"


def publish(instance: Instance, api: Api, program: str, version: str, port: int) -> None:
    """`version` is `v1beta1.metrics.k8s.io`; the process listens at the bridge's address, as testbed:<program>."""
    user = f"testbed:{program}"
    _bind(api, user, "ClusterRole", DELEGATOR, "")
    _bind(api, user, "Role", READER, "kube-system")
    for path, body in _objects(instance, program, version, port):
        api.create(path, body)


def _bind(api: Api, user: str, kind: str, role: str, namespace: str) -> None:
    plural = "rolebindings" if namespace else "clusterrolebindings"
    place = f"namespaces/{namespace}/{plural}" if namespace else plural
    body = {
        "metadata": {"name": f"{user}-{role}"},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"kind": "User", "name": user, "apiGroup": RBAC}],
    }
    api.create(f"/apis/{RBAC}/v1/{place}", body)


def _objects(instance: Instance, program: str, version: str, port: int) -> list[tuple[str, Object]]:
    """A Service without a selector and its EndpointSlice by hand, as for the cluster's DNS."""
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    slices = {
        "metadata": {"name": f"{program}-host", "labels": {"kubernetes.io/service-name": program}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [instance.gateway], "conditions": {"ready": True}}],
        "ports": ports,
    }
    number, _, group = version.partition(".")
    service = {
        "group": group,
        "version": number,
        "service": {"name": program, "namespace": "kube-system", "port": port},
        "insecureSkipTLSVerify": True,
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
    }
    return [
        ("/api/v1/namespaces/kube-system/services", {"metadata": {"name": program}, "spec": {"ports": ports}}),
        ("/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices", slices),
        ("/apis/apiregistration.k8s.io/v1/apiservices", {"metadata": {"name": version}, "spec": service}),
    ]
