"""What the nodes of a test bed need beside them: cluster DNS and a registry, as host processes.

They run in the root namespace on the bridge's address, so they start before any node is ready and
survive whatever a test does to one.
"""

from pathlib import Path

from testbed import processes
from testbed.api import Api, Object
from testbed.http import answers
from testbed.instance import CLUSTER_DOMAIN, Instance
from testbed.pki import Authority
from testbed.waiting import START, until

RBAC = "rbac.authorization.k8s.io"
DNS_PORTS = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]


def start_registry(instance: Instance) -> None:
    """Debian's registry, with its storage in the instance's state."""
    configuration = instance.state / "registry.yml"
    configuration.write_text(
        f"version: 0.1\nlog: {{level: warn}}\nhttp: {{addr: '{instance.registry}'}}\n"
        f"storage: {{filesystem: {{rootdirectory: '{instance.state / 'registry'}'}}, delete: {{enabled: true}}}}\n"
    )
    log = instance.state / "log" / "registry.log"
    processes.start(instance.index, "registry", ["docker-registry", "serve", str(configuration)], log)
    until("the registry", lambda: answers(f"http://{instance.registry}/v2/"), deadline=START)


def publish_dns(instance: Instance, api: Api) -> None:
    """CoreDNS's rights, and the Service through which pods find it."""
    reads = ["get", "list", "watch"]
    slices = rule("discovery.k8s.io", ["endpointslices"], reads)
    define_role(api, "testbed:coredns", [rule("", ["services", "namespaces"], reads), slices])
    for path, body in _dns_objects(instance):
        api.create(path, body)


def start_dns(instance: Instance, authority: Authority, program: Path) -> None:
    """CoreDNS, answering."""
    configuration = instance.state / "Corefile"
    configuration.write_text(
        f".:53 {{\n bind {instance.gateway}\n errors\n ready {instance.gateway}:8181\n"
        f" kubernetes {CLUSTER_DOMAIN} in-addr.arpa {{\n  kubeconfig {authority.kubeconfig('coredns')}\n"
        "  pods insecure\n  ttl 5\n }\n cache 5\n}\n"
    )
    log = instance.state / "log" / "coredns.log"
    processes.start(instance.index, "coredns", [str(program), "-conf", str(configuration)], log)
    until("CoreDNS", lambda: answers(f"http://{instance.gateway}:8181/ready"), deadline=START)


def bind(api: Api, user: str, role: str) -> None:
    """Give a user a cluster role."""
    api.create(
        f"/apis/{RBAC}/v1/clusterrolebindings",
        {
            "metadata": {"name": user.replace("system:", "testbed:")},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "User", "name": user, "apiGroup": RBAC}],
        },
    )


def define_role(api: Api, name: str, rules: list[Object]) -> None:
    """A cluster role for one of the test bed's own components, bound to the user of the same name."""
    api.create(f"/apis/{RBAC}/v1/clusterroles", {"metadata": {"name": name}, "rules": rules})
    bind(api, name, name)


def rule(group: str, resources: list[str], verbs: list[str]) -> Object:
    return {"apiGroups": [group], "resources": resources, "verbs": verbs}


def _dns_objects(instance: Instance) -> list[tuple[str, Object]]:
    """A Service without a selector and its EndpointSlice by hand, since CoreDNS is not a pod here."""
    service = {"metadata": {"name": "kube-dns"}, "spec": {"clusterIP": instance.dns_service, "ports": DNS_PORTS}}
    endpoints = {
        "metadata": {"name": "kube-dns-host", "labels": {"kubernetes.io/service-name": "kube-dns"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [instance.gateway], "conditions": {"ready": True}}],
        "ports": DNS_PORTS,
    }
    return [
        ("/api/v1/namespaces/kube-system/services", service),
        ("/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices", endpoints),
    ]
