"""A real gateway beside a cluster: Traefik as a host process, serving the Gateway API's standard channel.

It listens on the bridge, as the registry does, and reaches pods by their own addresses. The definitions are of a later
release than Traefik was built with, so they come from their own module, checked by its sum.
"""

from functools import partial
from pathlib import Path

from testbed import dns_and_registry, processes
from testbed.api import Api, Object, is_true
from testbed.dns_and_registry import rule
from testbed.go_modules import module_directory
from testbed.http import answers
from testbed.instance import Instance
from testbed.pki import Authority, Identity
from testbed.waiting import START, until

PROGRAM = "traefik"
GROUP = "gateway.networking.k8s.io"
NAMESPACE, NAME = "gateways", "public"
PORT = 8000
MODULE = "sigs.k8s.io/gateway-api@v1.6.0"
SUM = "h1:735YBRj5NXFrOGX0GoSjwzUIzbz8kiEOfADsqHFmHgE="
# Seconds. Traefik's own four end where a model's usual answer begins.
BUCKETS = "0.005,0.01,0.025,0.05,0.1,0.15,0.2,0.25,0.3,0.4,0.5,0.75,1,2.5,5"

READ = ["get", "list", "watch"]


def definitions() -> Path:
    """The directory of the standard channel's definitions."""
    return module_directory(MODULE, SUM) / "config" / "crd" / "standard"


def publish(authority: Authority, api: Api) -> None:
    """Traefik's rights, and one Gateway for the routes of all namespaces; its definitions are there."""
    dns_and_registry.define_role(
        api,
        f"testbed:{PROGRAM}",
        [
            rule("", ["namespaces", "services", "secrets", "configmaps", "nodes"], READ),
            rule("discovery.k8s.io", ["endpointslices"], READ),
            rule(GROUP, ["*"], READ),
            rule(GROUP, [f"{plural}/status" for plural in _STATED], ["update", "patch"]),
        ],
    )
    authority.issue(PROGRAM, Identity(f"testbed:{PROGRAM}"))
    for path, body in _objects():
        api.create(path, body)


def start(instance: Instance, authority: Authority, api: Api, program: Path) -> None:
    """Traefik, with its Gateway programmed."""
    monitor = metrics(instance)
    command = [
        str(program),
        f"--entrypoints.web.address={address(instance)}",
        f"--entrypoints.monitor.address={monitor}",
        "--providers.kubernetesgateway=true",
        f"--providers.kubernetesgateway.statusaddress.ip={instance.gateway}",
        # Two seconds by default: as long as a predictor that dies may cost requests at all.
        "--providers.providersthrottleduration=100ms",
        "--ping.entrypoint=monitor",
        "--metrics.prometheus.entrypoint=monitor",
        f"--metrics.prometheus.buckets={BUCKETS}",
        "--global.checknewversion=false",
        "--global.sendanonymoususage=false",
    ]
    environment = {"KUBECONFIG": str(authority.kubeconfig(PROGRAM))}
    processes.start(instance.index, PROGRAM, command, _log(instance), environment)
    until("Traefik", partial(_answers, instance, f"http://{monitor}/ping"), deadline=START)
    place = f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/gateways/{NAME}"
    until("the gateway to be programmed", lambda: is_true(api.get(place), "Programmed"), deadline=START)


def address(instance: Instance) -> str:
    """Where requests are sent, as host and port."""
    return f"{instance.gateway}:{PORT}"


def metrics(instance: Instance) -> str:
    """Where Traefik shows its metrics, as host and port."""
    return f"127.0.0.1:{instance.loopback_port(5)}"


_STATED = ("gatewayclasses", "gateways", "httproutes", "grpcroutes", "tlsroutes", "backendtlspolicies")


def _log(instance: Instance) -> Path:
    return instance.state / "log" / f"{PROGRAM}.log"


def _answers(instance: Instance, url: str) -> bool:
    processes.insist(instance.index, PROGRAM, _log(instance))
    return answers(url)


def _objects() -> list[tuple[str, Object]]:
    listener = {
        "name": "web",
        "port": PORT,  # Traefik finds its entry point by the port
        "protocol": "HTTP",
        "allowedRoutes": {"namespaces": {"from": "All"}},
    }
    kinds = f"/apis/{GROUP}/v1"
    head = {"apiVersion": f"{GROUP}/v1"}
    return [
        ("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}),
        (
            f"{kinds}/gatewayclasses",
            {
                **head,
                "kind": "GatewayClass",
                "metadata": {"name": PROGRAM},
                "spec": {"controllerName": "traefik.io/gateway-controller"},
            },
        ),
        (
            f"{kinds}/namespaces/{NAMESPACE}/gateways",
            {
                **head,
                "kind": "Gateway",
                "metadata": {"name": NAME},
                "spec": {"gatewayClassName": PROGRAM, "listeners": [listener]},
            },
        ),
    ]
