"""The configuration files of a node's daemons, as pure functions of the node's place."""

import os
from pathlib import Path
from typing import Any

from testbed.instance import CLUSTER_DOMAIN, Instance, NodePlace
from testbed.pki import Authority

PAUSE = "pause:1"


def kubelet(instance: Instance, place: NodePlace, authority: Authority, resolv: Path) -> dict[str, Any]:
    """The kubelet's configuration; every node sees the whole machine, so half of it is held back."""
    certificate, key = authority.files(f"{place.name}-serving")
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": place.address,
        "healthzBindAddress": place.address,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority.certificate)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(certificate),
        "tlsPrivateKeyFile": str(key),
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{place.cgroup}",
        "failCgroupV1": False,
        "clusterDNS": [instance.dns_service],
        "clusterDomain": CLUSTER_DOMAIN,
        "resolvConf": str(resolv),
        "failSwapOn": False,
        "protectKernelDefaults": False,
        "enforceNodeAllocatable": ["pods"],
        "kubeReserved": {"memory": f"{_half_of_memory() >> 20}Mi"},
        # The machine's disk and memory are shared with builds: a node must not evict because of them.
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1%",
            "nodefs.inodesFree": "1%",
            "imagefs.available": "1%",
            "imagefs.inodesFree": "1%",
        },
        "imageGCHighThresholdPercent": 99,
        "imageGCLowThresholdPercent": 98,
        "serializeImagePulls": False,
        # Short, so that a lost node is noticed in seconds.
        "nodeStatusUpdateFrequency": "2s",
        "nodeLeaseDurationSeconds": 4,
        "syncFrequency": "10s",
    }


def _half_of_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def kube_proxy(instance: Instance, place: NodePlace, authority: Authority) -> dict[str, Any]:
    """kube-proxy's configuration; the zeros skip settings that are read-only in a child namespace."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": instance.pod_network,
        "hostnameOverride": place.name,
        "clientConnection": {"kubeconfig": str(authority.kubeconfig("kube-proxy"))},
        "bindAddress": place.address,
        "healthzBindAddress": f"{place.address}:10256",
        "metricsBindAddress": f"{place.address}:10249",
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
    }


def pod_network(place: NodePlace) -> dict[str, Any]:
    """The CNI network list: a bridge in the node, addresses from the node's own subnet."""
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": place.pod_subnet}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": addresses,
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "1.0.0", "name": "testbed", "plugins": [bridge, ports]}


def containerd(instance: Instance) -> str:
    """containerd's configuration; without restrict_oom_score_adj runc fails where CAP_SYS_RESOURCE is missing."""
    return f"""version = 3
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "{instance.registry}/{PAUSE}"
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


def registry_hosts(instance: Instance) -> str:
    """How containerd reaches the test bed's registry: plain HTTP on the bridge."""
    server = f"http://{instance.registry}"
    return f'server = "{server}"\n[host."{server}"]\n  capabilities = ["pull", "resolve"]\n'
