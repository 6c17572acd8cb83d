"""A running Kubernetes on this machine, started, reused and ended.

What is complete and healthy is reused; anything else is cleaned away and built anew. The record
file is written only after a step is whole, so a start that was killed is never taken for a cluster.
"""

import contextlib
import fcntl
import hashlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import IO

from testbed import controlplane, network, node, processes, removal, services, simulated, tools
from testbed.api import Api, Object, is_true
from testbed.controlplane import ControlPlane
from testbed.direct import NO_PROXIES
from testbed.errors import TestbedError
from testbed.home import home
from testbed.images import Images
from testbed.instance import Instance
from testbed.node import Node
from testbed.nodeconfig import PAUSE
from testbed.pki import Authority
from testbed.record import Record
from testbed.shell import run
from testbed.waiting import until

TURN = "turn"  # the lock that a test holds, alone if it breaks things


class Cluster:
    """One test bed. `up` may be called by many processes at once: one starts it, the others find it."""

    def __init__(self, index: int = 0, report: Callable[[str], None] = print) -> None:
        self.instance = Instance(index)
        self._report = report

    def up(self, nodes: int = 0, kwok: int = 0, *, keep: bool = True, claim: IO[str] | None = None) -> None:
        """Make sure that a healthy cluster of at least this size runs.

        `keep` is False where tests start it for themselves: the last of them then ends it. With `claim`,
        the open file of `users_file`, the caller counts as a user until the file is closed.
        """
        _require_root()
        self.prepare(nodes, kwok)
        with self._calm(), self._locked(), self.users_file.open("w") as own:
            removal.refuse_strangers(self.instance)
            record = self._reusable()
            if record is None:
                self._refuse_while_used(claim or own)
                keep = keep or self._kept()
                removal.clean(self.instance)
                record = Record(self._fingerprint(), keep=keep)
                self._start_control_plane(record)
            if claim is not None:
                fcntl.flock(claim, fcntl.LOCK_SH)
            if nodes > record.nodes:
                record = self._add_nodes(record, nodes)
            if kwok > record.kwok:
                record = self._add_simulated_nodes(record, kwok)
            if keep and not record.keep:
                replace(record, keep=True).write(self.instance.state)

    def prepare(self, nodes: int, kwok: int) -> None:
        """Build what a cluster of this size needs; before the lock is taken, so that nobody waits for it."""
        wanted = [*controlplane.PROGRAMS, "kubectl"]
        if nodes:
            wanted += [*node.PROGRAMS, "coredns", "pause"]
        if kwok:
            wanted += ["kwok"]
        tools.binaries(wanted, self._report)

    def down(self, unless: Callable[[], bool] | None = None) -> None:
        """End the cluster and remove every trace of it.

        `unless` is asked when nobody can start or end the cluster any more: if true, it stays.
        """
        _require_root()
        with self._locked():
            if unless is None or not unless():
                removal.clean(self.instance)

    @property
    def users_file(self) -> Path:
        """Whoever uses the cluster holds a lock on this file."""
        return self.instance.lock("users")

    @property
    def record(self) -> Record:
        """What runs, as recorded; an error if nothing does."""
        record = Record.read(self.instance.state)
        if record is None:
            raise TestbedError(f"no cluster {self.instance.index} is running; start it with `make cluster`")
        return record

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.authority.kubeconfig("admin")

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

    def image(self, name: str) -> str:
        """The reference of a test image in the cluster's registry, built and pushed if need be."""
        return self.images.push(name, registry=self.instance.registry)

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        """What kubectl prints, as administrator."""
        return run(
            str(tools.binary("kubectl")),
            f"--kubeconfig={self.kubeconfig}",
            *arguments,
            given=given,
            environment=NO_PROXIES,
        )

    def install_custom_resources(self, tool: str) -> None:
        """Apply a peer's CRDs from its module and wait until they are served."""
        applied = self.kubectl("apply", "--server-side", "-o=name", "-f", str(tools.module_files(tool, "crds")))
        for name in (line.partition("/")[2] for line in applied.splitlines()):
            until(f"{name} to be served", partial(self._established, name), deadline=60)

    def control_plane(self) -> ControlPlane:
        """The control plane's parts, to be started again after a fault."""
        programs = tools.binaries(controlplane.PROGRAMS, self._report)
        return ControlPlane(self.instance, self.authority, programs)

    def node(self, number: int) -> Node:
        """Real node `number`, counted from 1."""
        programs = tools.binaries(node.PROGRAMS, self._report)
        return Node(self.instance, self.instance.node(number), self.authority, programs)

    def start_registry(self) -> None:
        services.start_registry(self.instance)

    def start_dns(self) -> None:
        services.start_dns(self.instance, self.authority, tools.binary("coredns", self._report))

    def start_kwok(self) -> None:
        simulated.start(self.instance, self.authority, tools.binary("kwok", self._report))

    def wait_ready(self, nodes: int, deadline: float) -> None:
        """Wait until real nodes 1 to `nodes` say Ready."""
        names = {self.instance.node(number).name for number in range(1, nodes + 1)}

        def ready() -> bool:
            listed: list[Object] = self.api.list("/api/v1/nodes")
            return names <= {item["metadata"]["name"] for item in listed if is_true(item, "Ready")}

        until(f"{nodes} nodes to be ready", ready, deadline=deadline)

    @contextlib.contextmanager
    def _calm(self) -> Iterator[None]:
        """No test breaks things meanwhile: what it broke would be taken for damage, and mended or cleaned away."""
        with self.instance.lock(TURN).open("w") as file:
            until("the test that runs alone to end", lambda: _locks(file, fcntl.LOCK_SH), deadline=600)
            yield

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """One start or stop at a time on this machine; the kernel frees the lock of a killed holder."""
        with self.instance.lock("lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _refuse_while_used(self, users: IO[str]) -> None:
        """A cluster that is broken or of other code is replaced, but not under the feet of running tests."""
        if not _locks(users, fcntl.LOCK_EX):
            raise TestbedError(
                f"instance {self.instance.index} is used by running tests, and it is not healthy or was started by "
                "other code; wait for them, or choose another INSTANCE"
            )

    def _reusable(self) -> Record | None:
        """The record of the running cluster, if it is whole, healthy and of this code."""
        record = Record.read(self.instance.state)
        if record is None or record.fingerprint != self._fingerprint():
            return None
        running = set(processes.components(self.instance.index))
        spaces = {self.instance.node(number).network_namespace for number in range(1, record.nodes + 1)}
        if running != record.components() or set(network.namespaces(self.instance)) != spaces:
            return None
        self._undo_faults(record)
        try:
            until("the API server to answer", self.api.healthy, deadline=10)
            self.wait_ready(record.nodes, deadline=30)
        except TestbedError:
            return None
        return record

    def _kept(self) -> bool:
        """A cluster that somebody wanted to keep is kept even if it has to be built anew."""
        record = Record.read(self.instance.state)
        return record is not None and record.keep

    def _undo_faults(self, record: Record) -> None:
        """A test that was killed may have left something frozen or cut off."""
        processes.send(processes.find(self.instance.index), signal.SIGCONT)
        for number in range(1, record.nodes + 1):
            network.join(self.instance.node(number))

    def _start_control_plane(self, record: Record) -> None:
        began = time.monotonic()
        network.create(self.instance)
        Authority.create(self.instance)
        self.control_plane().start(self.api)
        record.write(self.instance.state)
        self._report(f"control plane ready in {time.monotonic() - began:.1f} s")

    def _add_nodes(self, record: Record, wanted: int) -> Record:
        began = time.monotonic()
        added = [self.node(number) for number in range(record.nodes + 1, wanted + 1)]
        peers = [self.instance.node(number) for number in range(1, record.nodes + 1)]
        with ThreadPoolExecutor() as pool:
            beside = [] if record.nodes else [pool.submit(self._start_services)]
            for member in added:
                member.prepare(peers)
                peers.append(member.place)
            for step in [*beside, *(pool.submit(member.boot) for member in added)]:
                step.result()
        if not record.nodes:
            network.serve_cluster_addresses(self.instance, added[0].place)
        self.wait_ready(wanted, deadline=60)
        record = replace(record, nodes=wanted)
        record.write(self.instance.state)
        self._report(f"{wanted} nodes ready in {time.monotonic() - began:.1f} s")
        return record

    def _start_services(self) -> None:
        services.bind(self.api, "system:kube-proxy", "system:node-proxier")
        self.start_registry()
        pause = tools.binary("pause", self._report)
        self.images.push_binary(pause, reference=f"{self.instance.registry}/{PAUSE}")
        services.publish_dns(self.instance, self.api)
        self.start_dns()

    def _add_simulated_nodes(self, record: Record, wanted: int) -> Record:
        began = time.monotonic()
        if not record.kwok:
            simulated.allow(self.api)
            self.start_kwok()
        simulated.create_nodes(self.api, record.kwok + 1, wanted)
        record = replace(record, kwok=wanted)
        record.write(self.instance.state)
        self._report(f"{wanted} simulated nodes ready in {time.monotonic() - began:.1f} s")
        return record

    def _established(self, name: str) -> bool:
        definition = self.api.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
        return is_true(definition, "Established")

    def _fingerprint(self) -> str:
        """Changes with the launcher's code and with what it starts."""
        digest = hashlib.sha256()
        for file in sorted(Path(__file__).parent.glob("*.py")):
            digest.update(file.read_bytes())
        for tool in tools.catalogue().values():
            digest.update(tool.key.encode())
        return digest.hexdigest()


def _require_root() -> None:
    if os.geteuid() != 0:
        raise TestbedError("the test bed makes network namespaces and cgroups: run it as root (sudo make …)")


def _locks(file: IO[str], mode: int) -> bool:
    """Take a lock if it is free."""
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
