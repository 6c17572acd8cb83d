"""Configuration of a node's daemons: what keeps a node closed, and apart from its neighbours."""

import json
import tomllib
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest

from testbed import nodeconfig
from testbed.instance import Instance
from testbed.pki import Authority

INSTANCE = Instance(7)
PLACE = INSTANCE.node(2)
AUTHORITY = Authority(Path("/pki"), INSTANCE.server)


@pytest.fixture
def kubelet() -> dict[str, Any]:
    """As the kubelet reads it, from JSON."""
    written = nodeconfig.kubelet(INSTANCE, PLACE, AUTHORITY, Path("/state/resolv.conf"))
    read: dict[str, Any] = json.loads(json.dumps(written))
    return read


def test_kubelet_lets_nobody_in_without_a_name(kubelet: dict[str, Any]) -> None:
    """Its port runs commands in containers; an open one would hide missing RBAC from the tests."""
    assert kubelet["authentication"]["anonymous"] == {"enabled": False}
    assert kubelet["authentication"]["webhook"] == {"enabled": True}
    assert kubelet["authentication"]["x509"] == {"clientCAFile": "/pki/ca.crt"}
    assert kubelet["authorization"] == {"mode": "Webhook"}


def test_kubelet_keeps_its_pods_below_the_node_s_own_cgroup(kubelet: dict[str, Any]) -> None:
    """That is how containers are found when everything that started them is gone."""
    assert kubelet["cgroupRoot"] == f"/{PLACE.cgroup}"
    assert kubelet["cgroupDriver"] == "cgroupfs"


def test_kubelet_listens_on_the_node_s_address_only(kubelet: dict[str, Any]) -> None:
    assert {kubelet["address"], kubelet["healthzBindAddress"]} == {PLACE.address}


def test_kubelet_serves_under_the_node_s_certificate(kubelet: dict[str, Any]) -> None:
    """A self-signed one, its default, would not pass the API server's verification."""
    assert kubelet["tlsCertFile"] == "/pki/node2-serving.crt"
    assert kubelet["tlsPrivateKeyFile"] == "/pki/node2-serving.key"


def test_pods_resolve_names_by_the_cluster_s_dns_alone(kubelet: dict[str, Any]) -> None:
    """With the machine's resolv.conf a pod's lookup would leave the machine."""
    assert kubelet["clusterDNS"] == [INSTANCE.dns_service]
    assert kubelet["clusterDomain"] == "cluster.local"
    assert kubelet["resolvConf"] == "/state/resolv.conf"


def test_lease_outlives_two_heartbeats(kubelet: dict[str, Any]) -> None:
    """A single late heartbeat on a busy machine must not make a node look lost."""
    assert kubelet["nodeLeaseDurationSeconds"] >= 2 * int(kubelet["nodeStatusUpdateFrequency"].removesuffix("s"))


def test_kube_proxy_belongs_to_its_node() -> None:
    """All of its ports on the node's address: two proxies share the machine."""
    proxy = json.loads(json.dumps(nodeconfig.kube_proxy(INSTANCE, PLACE, AUTHORITY)))
    assert proxy["hostnameOverride"] == PLACE.name
    assert proxy["clusterCIDR"] == INSTANCE.pod_network
    assert proxy["clientConnection"] == {"kubeconfig": "/pki/kube-proxy.kubeconfig"}
    bound = [proxy["bindAddress"], proxy["healthzBindAddress"], proxy["metricsBindAddress"]]
    assert {address.split(":")[0] for address in bound} == {PLACE.address}
    assert len(set(bound)) == len(bound)


def test_pod_addresses_come_from_the_node_s_own_subnet() -> None:
    """Two nodes that hand out the same addresses would be found out only by strange traffic."""
    bridge, ports = nodeconfig.pod_network(PLACE)["plugins"]
    assert (bridge["type"], ports["type"]) == ("bridge", "portmap")
    assert bridge["ipam"]["ranges"] == [[{"subnet": PLACE.pod_subnet}]]
    # Masquerading would hide which pod speaks, and pods' addresses are routed between nodes anyway.
    assert bridge["ipMasq"] is False


def test_containerd_takes_the_pause_image_from_the_test_bed_s_registry() -> None:
    """There is no other registry within reach, and without this image no pod starts."""
    plugins = tomllib.loads(nodeconfig.containerd(INSTANCE))["plugins"]
    images, runtime = plugins["io.containerd.cri.v1.images"], plugins["io.containerd.cri.v1.runtime"]
    assert images["pinned_images"] == {"sandbox": f"{INSTANCE.registry}/{nodeconfig.PAUSE}"}
    assert images["registry"] == {"config_path": "/etc/containerd/certs.d"}
    assert runtime["containerd"]["runtimes"]["runc"]["options"] == {"SystemdCgroup": False}
    assert runtime["restrict_oom_score_adj"] is True


def test_registry_is_read_over_plain_http_and_never_written() -> None:
    hosts = tomllib.loads(nodeconfig.registry_hosts(INSTANCE))
    server = f"http://{INSTANCE.registry}"
    assert hosts == {"server": server, "host": {server: {"capabilities": ["pull", "resolve"]}}}


@pytest.mark.parametrize("number", range(1, 16))
def test_no_two_nodes_share_what_must_be_theirs(number: int) -> None:
    """Every node of every instance runs on the same kernel."""
    place = INSTANCE.node(number)
    config = nodeconfig.kubelet(INSTANCE, place, AUTHORITY, Path("/state/resolv.conf"))
    others = [INSTANCE.node(other) for other in range(1, 16) if other != number]
    assert config["cgroupRoot"] not in [f"/{other.cgroup}" for other in others]
    subnet = IPv4Network(nodeconfig.pod_network(place)["plugins"][0]["ipam"]["ranges"][0][0]["subnet"])
    assert [other for other in others if subnet.overlaps(IPv4Network(other.pod_subnet))] == []
