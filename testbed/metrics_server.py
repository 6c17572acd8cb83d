"""What pods use, for autoscalers: the real metrics-server as a host process, behind an APIService.

It asks kubelets, and is asked by the API server, at the bridge's address.
"""

from pathlib import Path

from testbed import dns_and_registry, processes
from testbed.api import Api, Object
from testbed.dns_and_registry import RBAC, rule
from testbed.instance import Instance
from testbed.pki import Authority, Identity
from testbed.waiting import until

PROGRAM = "metrics-server"
GROUP, VERSION = "metrics.k8s.io", "v1beta1"
PORT = 4443
RESOLUTION = "10s"  # the shortest that it takes


def publish(instance: Instance, authority: Authority, api: Api) -> None:
    """Its rights, its certificates, and the APIService through which it is asked."""
    user = f"testbed:{PROGRAM}"
    dns_and_registry.define_role(
        api,
        user,
        [
            rule("", ["nodes/metrics"], ["get"]),
            rule("", ["pods", "nodes", "namespaces"], ["get", "list", "watch"]),
        ],
    )
    _bind(api, user, "ClusterRole", "system:auth-delegator", "")
    _bind(api, user, "Role", "extension-apiserver-authentication-reader", "kube-system")
    name = f"{PROGRAM}.kube-system.svc"
    authority.issue(PROGRAM, Identity(user, addresses=(instance.gateway,), hosts=(name,)))
    for path, body in _objects(instance):
        api.create(path, body)


def start(instance: Instance, authority: Authority, api: Api, program: Path) -> None:
    """metrics-server, with figures of the nodes."""
    certificate, key = authority.files(PROGRAM)
    kubeconfig = authority.kubeconfig(PROGRAM)
    command = [
        str(program),
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={instance.gateway}",
        f"--secure-port={PORT}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
        f"--kubelet-certificate-authority={authority.certificate}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--metric-resolution={RESOLUTION}",
        "--kubelet-request-timeout=5s",  # must be less than the resolution
    ]
    log = instance.state / "log" / f"{PROGRAM}.log"
    processes.start(instance.index, PROGRAM, command, log)

    def measured() -> bool:
        processes.insist(instance.index, PROGRAM, log)
        place = f"/apis/{GROUP}/{VERSION}/nodes"
        return api.exists(place) and bool(api.list(place))  # not found until the API server knows the group

    until("figures of the nodes", measured, deadline=90)


def _bind(api: Api, user: str, kind: str, role: str, namespace: str) -> None:
    plural = "rolebindings" if namespace else "clusterrolebindings"
    place = f"namespaces/{namespace}/{plural}" if namespace else plural
    body = {
        "metadata": {"name": f"{user}-{role}"},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [{"kind": "User", "name": user, "apiGroup": RBAC}],
    }
    api.create(f"/apis/{RBAC}/v1/{place}", body)


def _objects(instance: Instance) -> list[tuple[str, Object]]:
    """A Service without a selector and its EndpointSlice by hand, as for the cluster's DNS."""
    ports = [{"name": "https", "port": PORT, "protocol": "TCP"}]
    slices = {
        "metadata": {"name": f"{PROGRAM}-host", "labels": {"kubernetes.io/service-name": PROGRAM}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [instance.gateway], "conditions": {"ready": True}}],
        "ports": ports,
    }
    service = {
        "group": GROUP,
        "version": VERSION,
        "service": {"name": PROGRAM, "namespace": "kube-system", "port": PORT},
        "insecureSkipTLSVerify": True,
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
    }
    return [
        ("/api/v1/namespaces/kube-system/services", {"metadata": {"name": PROGRAM}, "spec": {"ports": ports}}),
        ("/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices", slices),
        (
            "/apis/apiregistration.k8s.io/v1/apiservices",
            {"metadata": {"name": f"{VERSION}.{GROUP}"}, "spec": service},
        ),
    ]
