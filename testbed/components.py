"""The parts of one instance's cluster, and how they are put together.

Each part can be started on its own, again after a fault too. Whether a cluster is needed, whole or
in use is not decided here (`cluster.py`).
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

from testbed import (
    controlplane,
    coscheduling,
    dns_and_registry,
    gateway,
    kueue,
    kwok,
    metrics_server,
    network,
    node,
    tools,
    volcano,
)
from testbed.api import Api, Object, is_true
from testbed.controlplane import ControlPlane
from testbed.images import Images
from testbed.instance import Instance
from testbed.node import Node
from testbed.nodeconfig import PAUSE
from testbed.paths import home
from testbed.pki import Authority
from testbed.waiting import START, until

UNREACHABLE = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class Parts:
    """Control plane, nodes, and what stands beside them."""

    def __init__(self, instance: Instance, report: Callable[[str], None]) -> None:
        self.instance = instance
        self._report = report

    def prepare(self, nodes: int, kwok: int) -> None:
        """Build the programs that a cluster of this size needs."""
        wanted = [*controlplane.PROGRAMS, "kubectl"]
        if nodes:
            wanted += [*node.PROGRAMS, "coredns", "pause"]
        if kwok:
            wanted += ["kwok"]
        tools.binaries(wanted, self._report)

    @property
    def authority(self) -> Authority:
        """The certificates of the running cluster."""
        return Authority.of(self.instance)

    @property
    def api(self) -> Api:
        """The API as administrator."""
        return Api(self.instance.server, self.authority.certificate, *self.authority.files("admin"))

    @cached_property
    def images(self) -> Images:
        return Images(cache=home(), report=self._report)

    def control_plane(self) -> ControlPlane:
        return ControlPlane(self.instance, self.authority, tools.binaries(controlplane.PROGRAMS, self._report))

    def node(self, number: int) -> Node:
        """Real node `number`, counted from 1."""
        programs = tools.binaries(node.PROGRAMS, self._report)
        return Node(self.instance, self.instance.node(number), self.authority, programs)

    def start_control_plane(self) -> None:
        """Network, certificates and control plane of an instance of which nothing exists."""
        began = time.monotonic()
        network.create(self.instance)
        Authority.create(self.instance)
        self.control_plane().start(self.api)
        self._report(f"control plane ready in {time.monotonic() - began:.1f} s")

    def add_nodes(self, present: int, wanted: int) -> None:
        """Real nodes after the first `present`; DNS and the registry come with the first ones."""
        began = time.monotonic()
        added = [self.node(number) for number in range(present + 1, wanted + 1)]
        peers = [self.instance.node(number) for number in range(1, present + 1)]
        with ThreadPoolExecutor() as pool:
            beside = [] if present else [pool.submit(self._start_services)]
            for member in added:
                member.prepare(peers)
                peers.append(member.place)
            for step in [*beside, *(pool.submit(member.boot) for member in added)]:
                step.result()
        if not present:
            network.serve_cluster_addresses(self.instance, added[0].place)
        self.wait_ready(wanted, deadline=START)
        self._report(f"{wanted} nodes ready in {time.monotonic() - began:.1f} s")

    def add_simulated_nodes(self, present: int, wanted: int) -> None:
        """Simulated nodes after the first `present`; kwok comes with the first ones."""
        began = time.monotonic()
        if not present:
            kwok.allow(self.api)
            self.start_kwok()
        kwok.create_nodes(self.api, present + 1, wanted)
        self._report(f"{wanted} simulated nodes ready in {time.monotonic() - began:.1f} s")

    def start_registry(self) -> None:
        dns_and_registry.start_registry(self.instance)

    def start_dns(self) -> None:
        dns_and_registry.start_dns(self.instance, self.authority, tools.binary("coredns", self._report))

    def start_kwok(self) -> None:
        kwok.start(self.instance, self.authority, self.api, tools.binary("kwok", self._report))

    def add_gateway(self) -> None:
        """Traefik and its Gateway; the Gateway API's definitions are installed."""
        gateway.publish(self.authority, self.api)
        self.start_gateway()

    def start_gateway(self) -> None:
        gateway.start(self.instance, self.authority, self.api, tools.binary(gateway.PROGRAM, self._report))

    def add_usage(self) -> None:
        """metrics-server."""
        metrics_server.publish(self.instance, self.authority, self.api)
        self.start_usage()

    def start_usage(self) -> None:
        metrics_server.start(
            self.instance, self.authority, self.api, tools.binary(metrics_server.PROGRAM, self._report)
        )

    def add_kueue(self) -> None:
        """Kueue; its definitions are installed."""
        kueue.publish(self.instance, self.authority, self.api)
        self.start_kueue()

    def start_kueue(self) -> None:
        kueue.start(self.instance, self.authority, self.api, tools.binary(kueue.PROGRAM, self._report))

    def add_coscheduling(self) -> None:
        """A scheduler with Coscheduling; its definitions are installed."""
        coscheduling.publish(self.authority, self.api)
        coscheduling.start(self.instance, self.authority, tools.binary(coscheduling.PROGRAM, self._report))

    def add_volcano(self) -> None:
        """Volcano; its definitions are installed."""
        volcano.publish(self.authority, self.api)
        programs = tools.binaries((volcano.CONTROLLERS, volcano.SCHEDULER), self._report)
        volcano.start(self.instance, self.authority, self.api, programs)

    def wait_ready(self, nodes: int, deadline: float) -> None:
        """Wait until real nodes 1 to `nodes` say Ready."""
        names = {self.instance.node(number).name for number in range(1, nodes + 1)}

        def ready() -> bool:
            listed: list[Object] = self.api.list("/api/v1/nodes")
            taking = {item["metadata"]["name"] for item in listed if is_true(item, "Ready") and not _is_avoided(item)}
            return names <= taking

        until(f"{nodes} nodes to be ready", ready, deadline=deadline)

    def _start_services(self) -> None:
        dns_and_registry.bind(self.api, "system:kube-proxy", "system:node-proxier")
        self.start_registry()
        pause = tools.binary("pause", self._report)
        self.images.push_binary(pause, reference=f"{self.instance.registry}/{PAUSE}")
        dns_and_registry.publish_dns(self.instance, self.api)
        self.start_dns()


def _is_avoided(node: Object) -> bool:
    """Whether no pod comes to it yet: the taints of a node that was lost go a moment after it is Ready."""
    return any(taint["key"] in UNREACHABLE for taint in node["spec"].get("taints") or ())
