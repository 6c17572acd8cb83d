"""The network of one test bed: a bridge in the root namespace and a namespace per node.

Nothing strays: nodes have routes into the instance's own ranges only, the root namespace does not
forward, and a blackhole route drops what has no better one.
"""

import json
import re
from pathlib import Path

from testbed.instance import Instance, NodePlace
from testbed.shell import attempt, run


def create(instance: Instance) -> None:
    """The bridge and the blackhole routes."""
    lines = [f"route replace blackhole {network}" for network in instance.networks]
    lines += [
        f"link add {instance.bridge} type bridge",
        f"addr add {instance.gateway}/24 dev {instance.bridge}",
        f"link set {instance.bridge} up",
    ]
    _batch(lines)


def attach(instance: Instance, node: NodePlace, peers: list[NodePlace]) -> None:
    """Give a node its namespace, its link to the bridge and the routes to and from its peers' pods."""
    _require_bridge_filter()
    namespace = node.network_namespace
    _batch(
        [
            f"netns add {namespace}",
            f"link add {node.link} type veth peer name eth0 netns {namespace}",
            f"link set {node.link} master {instance.bridge} up",
            f"route add {node.pod_subnet} via {node.address}",
        ]
    )
    _batch(
        [
            "link set lo up",
            f"addr add {node.address}/24 dev eth0",
            "link set eth0 up",
            *(f"route add {network} via {instance.gateway}" for network in instance.networks),
            *(f"route add {peer.pod_subnet} via {peer.address}" for peer in peers),
        ],
        namespace,
    )
    # Inside the namespace, not through `ip netns exec`: that would remount /sys without its cgroups.
    run(
        *inside(namespace),
        *("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0"),
        *("net.ipv4.conf.default.rp_filter=0", "net.bridge.bridge-nf-call-iptables=1"),
    )
    for peer in peers:
        run("ip", "-n", peer.network_namespace, "route", "replace", node.pod_subnet, "via", node.address)


def serve_cluster_addresses(instance: Instance, node: NodePlace) -> None:
    """Let the root namespace reach ClusterIPs through a node's kube-proxy."""
    run("ip", "route", "replace", instance.service_network, "via", node.address)


def inside(namespace: str) -> list[str]:
    """The words before a command that make it run in a network namespace."""
    return ["nsenter", f"--net=/run/netns/{namespace}"]


def cut(node: NodePlace) -> None:
    """Take the root side of the link down: the node's own routes survive, so it can come back."""
    run("ip", "link", "set", node.link, "down")


def join(node: NodePlace) -> None:
    """Undo `cut`."""
    run("ip", "link", "set", node.link, "up")


def drop_pod_bridge(node: NodePlace) -> None:
    """Forget the node's pod bridge, as a reboot would."""
    attempt("ip", "-n", node.network_namespace, "link", "del", "cni0")


def detach(node: NodePlace) -> None:
    """Remove a node's namespace, link and route, whichever of them exist."""
    attempt("ip", "route", "del", node.pod_subnet)
    attempt("ip", "link", "del", node.link)
    attempt("ip", "netns", "del", node.network_namespace)


def destroy(instance: Instance) -> None:
    """Remove everything of the instance from the machine's network, whatever state it is in."""
    for namespace in namespaces(instance):
        attempt("ip", "netns", "del", namespace)
    for link in links(instance):
        attempt("ip", "link", "del", link)
    for route in routes(instance):
        attempt("ip", "route", "del", *route.split())


def namespaces(instance: Instance) -> list[str]:
    """The instance's network namespaces."""
    lines = run("ip", "netns", "list").splitlines()
    names = [line.split()[0] for line in lines if line.strip()]
    return [name for name in names if name.startswith(f"{instance.prefix}-")]


def links(instance: Instance) -> list[str]:
    """The instance's links in the root namespace; the bridge last."""
    names = [link["ifname"] for link in json.loads(run("ip", "-json", "link", "show"))]
    ours = [name for name in names if re.fullmatch(rf"{instance.prefix}(br|n\d+)", name)]
    return sorted(ours, key=lambda name: name == instance.bridge)


def routes(instance: Instance) -> list[str]:
    """The instance's routes in the root namespace, as words for `ip route del`."""
    found = []
    for network in instance.networks:
        listed = json.loads(run("ip", "-json", "route", "show", "root", network) or "[]")
        for route in listed:
            kind = f"{route['type']} " if route.get("type") else ""
            found.append(f"{kind}{route['dst']}")
    return found


def _batch(lines: list[str], namespace: str | None = None) -> None:
    where = ["-n", namespace] if namespace else []
    run("ip", *where, "-batch", "-", given="\n".join(lines) + "\n")


def _require_bridge_filter() -> None:
    """A reply from a pod on the same node must pass kube-proxy's rules although it stays on a bridge."""
    if not Path("/proc/sys/net/bridge").exists():
        run("modprobe", "br_netfilter")
