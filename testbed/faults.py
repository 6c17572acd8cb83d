"""Breaking a cluster on purpose, one fault a method, each undone by its counterpart.

Context managers undo their fault even when the test fails, so that one test's fault is never the
next test's surprise. Names of components are those of the processes: `kube-apiserver`,
`node2/kubelet`.
"""

import base64
import contextlib
import json
import signal
import urllib.request
from collections.abc import Iterator
from typing import Any

from testbed import network, processes, removal
from testbed.cluster import Cluster
from testbed.controlplane import PROGRAMS
from testbed.errors import TestbedError


class Faults:
    """The faults of one running cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._index = cluster.instance.index

    def kill(self, component: str) -> None:
        """End a component at once; it stays dead until `start`."""
        processes.kill([processes.one(self._index, component)])

    def start(self, component: str) -> None:
        """Start a component that was killed; API server and kubelet serve again on return."""
        if component in PROGRAMS:
            plane = self._cluster.control_plane()
            plane.start_component(component)
            if component in {"etcd", "kube-apiserver"}:
                plane.wait_serving(self._cluster.api)
        elif component.startswith("node"):
            name, _, part = component.partition("/")
            node = self._cluster.node(int(name.removeprefix("node")))
            node.start_component(part)
            if part == "kubelet":
                node.wait_serving()
        else:
            raise TestbedError(f"{component} cannot be started on its own")

    def restart(self, component: str) -> None:
        """Kill and start."""
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

    @contextlib.contextmanager
    def frozen(self, component: str) -> Iterator[None]:
        """A component is stopped (SIGSTOP) for a while: its sockets stay open and nobody answers."""
        process = processes.one(self._index, component)
        processes.send([process], signal.SIGSTOP)
        try:
            yield
        finally:
            processes.send([process], signal.SIGCONT)

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
        node = self._cluster.node(number)
        node.power_off()
        try:
            yield
        finally:
            node.power_on()

    def lose_node(self, number: int) -> None:
        """A node burns down and its Node object is deleted; `replace_node` brings a new one."""
        place = self._cluster.instance.node(number)
        removal.remove_node(self._cluster.instance, place)
        self._cluster.api.delete(f"/api/v1/nodes/{place.name}")

    def replace_node(self, number: int) -> None:
        """A new, empty node takes the place of a lost one."""
        record = self._cluster.record
        peers = [self._cluster.instance.node(peer) for peer in range(1, record.nodes + 1) if peer != number]
        node = self._cluster.node(number)
        node.prepare(peers)
        node.boot()
        self._cluster.wait_ready(record.nodes, deadline=60)

    def compact(self) -> int:
        """Compact etcd to its newest revision: older watches get 410 Gone. Returns that revision.

        The API server's watch cache may still serve a recent version; a restart empties it.
        """
        key = base64.b64encode(b"/").decode()
        answer = self._etcd("range", {"key": key, "limit": "1"})
        revision = int(answer["header"]["revision"])
        self._etcd("compaction", {"revision": str(revision), "physical": True})
        return revision

    def _etcd(self, call: str, body: dict[str, Any]) -> dict[str, Any]:
        url = f"{self._cluster.control_plane().etcd_url}/v3/kv/{call}"
        with urllib.request.urlopen(url, data=json.dumps(body).encode(), timeout=10) as response:
            answer: dict[str, Any] = json.load(response)
        return answer
