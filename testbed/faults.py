"""Breaking a cluster on purpose, one fault a method, each undone by its counterpart.

Context managers undo their fault even when the test fails, so that one test's fault is never the
next test's surprise. Names of components are those of the processes: `kube-apiserver`,
`node2/kubelet`.
"""

import base64
import contextlib
import signal
from collections.abc import Callable, Iterator
from functools import partial

from testbed import cleanup, network, processes
from testbed.cluster import Cluster
from testbed.controlplane import PROGRAMS
from testbed.errors import TestbedError
from testbed.http import post
from testbed.waiting import START


class Faults:
    """The faults of one running cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._index = cluster.instance.index

    def kill(self, component: str) -> None:
        """End a component at once; it stays dead until `start`."""
        self._starter(component)  # what could not be started again is not killed
        processes.kill([processes.one(self._index, component)])

    def start(self, component: str) -> None:
        """Start a component that was killed; it serves again on return, if what it depends on lives."""
        self._starter(component)()

    def restart(self, component: str) -> None:
        """Kill and start: connections break, and what was only in memory is gone."""
        self.kill(component)
        self.start(component)

    @contextlib.contextmanager
    def dead(self, component: str) -> Iterator[None]:
        """A component is dead for a while."""
        self.kill(component)
        try:
            yield
        finally:
            self.start(component)

    def freeze(self, component: str) -> None:
        """Stop a component (SIGSTOP): its sockets stay open and nobody answers, until `resume`."""
        processes.send([processes.one(self._index, component)], signal.SIGSTOP)

    def resume(self, component: str) -> None:
        """Undo `freeze`."""
        processes.send([processes.one(self._index, component)], signal.SIGCONT)

    @contextlib.contextmanager
    def frozen(self, component: str) -> Iterator[None]:
        """A component is frozen for a while."""
        self.freeze(component)
        try:
            yield
        finally:
            self.resume(component)

    @contextlib.contextmanager
    def cut_off(self, number: int) -> Iterator[None]:
        """A node is cut from the network for a while; its pods run on."""
        place = self._cluster.instance.node(number)
        network.cut(place)
        try:
            yield
        finally:
            network.join(place)

    @contextlib.contextmanager
    def powered_off(self, number: int) -> Iterator[None]:
        """A node loses power for a while: every process of it dies at once."""
        node = self._cluster.parts.node(number)
        node.power_off()
        try:
            yield
        finally:
            node.power_on()

    def lose_node(self, number: int) -> None:
        """A node burns down and its Node object is deleted; `replace_node` brings a new one."""
        place = self._cluster.instance.node(number)
        cleanup.remove_node(self._cluster.instance, place)
        self._cluster.api.delete(f"/api/v1/nodes/{place.name}")

    def replace_node(self, number: int) -> None:
        """A new, empty node takes the place of a lost one."""
        record = self._cluster.record
        peers = [self._cluster.instance.node(peer) for peer in range(1, record.nodes + 1) if peer != number]
        node = self._cluster.parts.node(number)
        node.prepare(peers)
        node.boot()
        self._cluster.parts.wait_ready(record.nodes, deadline=START)

    def compact(self) -> int:
        """Compact etcd to its newest revision: older watches get 410 Gone. Returns that revision.

        The API server's watch cache may still serve a recent version; a restart empties it.
        """
        key = base64.b64encode(b"/").decode()
        etcd = f"{self._cluster.parts.control_plane().etcd_url}/v3/kv"
        revision = int(post(f"{etcd}/range", {"key": key, "limit": "1"})["header"]["revision"])
        post(f"{etcd}/compaction", {"revision": str(revision), "physical": True})
        return revision

    def _starter(self, component: str) -> Callable[[], None]:
        """What starts a component again."""
        alone = {
            "coredns": self._cluster.parts.start_dns,
            "kwok": self._cluster.parts.start_kwok,
            "kueue": self._cluster.parts.start_kueue,
            "metrics-server": self._cluster.parts.start_usage,
            "registry": self._cluster.parts.start_registry,
            "traefik": self._cluster.parts.start_gateway,
        }
        place, _, daemon = component.partition("/")
        if component in alone:
            return alone[component]
        if component in PROGRAMS:
            return partial(self._start_in_control_plane, component)
        if place.startswith("node") and daemon in {"containerd", "kubelet", "kube-proxy"}:
            return partial(self._start_on_node, int(place.removeprefix("node")), daemon)
        known = ", ".join([*PROGRAMS, *alone, "node<n>/containerd", "node<n>/kubelet", "node<n>/kube-proxy"])
        raise TestbedError(f"{component} is no component that can be killed and started; there are: {known}")

    def _start_in_control_plane(self, component: str) -> None:
        plane = self._cluster.parts.control_plane()
        plane.start_component(component)
        if {"etcd", "kube-apiserver"} <= processes.components(self._index).keys():
            plane.wait_serving(self._cluster.api)

    def _start_on_node(self, number: int, daemon: str) -> None:
        node = self._cluster.parts.node(number)
        node.start_component(daemon)
        if daemon == "kubelet":
            node.wait_serving()
