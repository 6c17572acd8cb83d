"""What pods use, for autoscalers: the real metrics-server as a host process, behind an APIService.

It asks kubelets, and is asked by the API server, at the bridge's address.
"""

from pathlib import Path

from testbed import aggregated_api, dns_and_registry, processes
from testbed.api import Api
from testbed.dns_and_registry import rule
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
    name = f"{PROGRAM}.kube-system.svc"
    authority.issue(PROGRAM, Identity(user, addresses=(instance.gateway,), hosts=(name,)))
    aggregated_api.publish(instance, api, PROGRAM, f"{VERSION}.{GROUP}", PORT)


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
