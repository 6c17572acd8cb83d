"""Everything that must differ between two test beds on one machine, derived from one index.

Addresses come from 198.18.0.0/15, the range reserved for benchmarks: no real network uses it, and
a blackhole route per instance keeps every packet on this machine. Instance i owns 198.18.(32i).0/19
(nodes and pods) and 198.19.(32i).0/19 (services), so at most eight instances fit.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import TestbedError
from testbed.paths import home

INSTANCES = 8
NODES = 15
CLUSTER_DOMAIN = "cluster.local"


def chosen_index() -> int:
    """The test bed that the environment (INSTANCE) asks for."""
    named = os.environ.get("INSTANCE", "0")
    if not named.isdigit():
        raise TestbedError(f"INSTANCE={named!r} is not a number")
    return int(named)


@dataclass(frozen=True)
class NodePlace:
    """One real node's names and addresses."""

    name: str
    number: int
    address: str
    pod_subnet: str
    network_namespace: str
    link: str
    cgroup: str


@dataclass(frozen=True)
class Instance:
    """One test bed's names, addresses and ports."""

    index: int

    def __post_init__(self) -> None:
        if not 0 <= self.index < INSTANCES:
            raise TestbedError(f"instance index {self.index} is not in 0..{INSTANCES - 1}")

    @property
    def prefix(self) -> str:
        """Begins the name of every machine-wide thing (link, namespace, cgroup) of this instance."""
        return f"kdl{self.index}"

    @property
    def bridge(self) -> str:
        return f"{self.prefix}br"

    @property
    def gateway(self) -> str:
        """The bridge's address in the root namespace; API server, registry and DNS listen on it."""
        return f"198.18.{self._third}.1"

    @property
    def node_network(self) -> str:
        return f"198.18.{self._third}.0/24"

    @property
    def pod_network(self) -> str:
        return f"198.18.{self._third + 16}.0/20"

    @property
    def service_network(self) -> str:
        return f"198.19.{self._third}.0/19"

    @property
    def networks(self) -> tuple[str, str]:
        """All that this instance may use: anything in here without a better route is dropped."""
        return f"198.18.{self._third}.0/19", self.service_network

    @property
    def kubernetes_service(self) -> str:
        return f"198.19.{self._third}.1"

    @property
    def dns_service(self) -> str:
        return f"198.19.{self._third}.10"

    @property
    def server(self) -> str:
        return f"https://{self.gateway}:6443"

    @property
    def registry(self) -> str:
        return f"{self.gateway}:5000"

    def loopback_port(self, offset: int) -> int:
        """Ports of what must not be reachable from a node (etcd) or needs no visitor (probes)."""
        return 21000 + 100 * self.index + offset

    @property
    def state(self) -> Path:
        return home() / "instances" / str(self.index)

    def lock(self, name: str) -> Path:
        """Locks are machine-wide, as bridges and namespaces are, whatever the home directory."""
        return Path("/run/lock") / f"kubedl-testbed-{self.index}.{name}"

    def node(self, number: int) -> NodePlace:
        """The place of real node `number`, counted from 1."""
        if not 1 <= number <= NODES:
            raise TestbedError(f"node number {number} is not in 1..{NODES}")
        name = f"node{number}"
        return NodePlace(
            name=name,
            number=number,
            address=f"198.18.{self._third}.{10 + number}",
            pod_subnet=f"198.18.{self._third + 16 + number}.0/24",
            network_namespace=f"{self.prefix}-{name}",
            link=f"{self.prefix}n{number}",
            cgroup=f"{self.prefix}-{name}",
        )

    @property
    def _third(self) -> int:
        return 32 * self.index
