"""A running Kubernetes on this machine, started, reused and ended.

What is complete and healthy is reused; anything else is cleaned away and built anew. The record
file is written only after a step is whole, so a start that was killed is never taken for a cluster.
"""

import hashlib
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO

from testbed import (
    cleanup,
    coscheduling,
    gateway,
    kueue,
    locks,
    metrics_server,
    network,
    processes,
    tools,
    volcano,
)
from testbed.api import Api, is_true
from testbed.components import Parts
from testbed.errors import TestbedError
from testbed.http import NO_PROXIES
from testbed.images import Images
from testbed.instance import Instance
from testbed.pki import Authority
from testbed.shell import run
from testbed.state_file import Record
from testbed.waiting import until

TURN = "turn"  # the lock that a test holds, alone if it breaks things


class Cluster:
    """One test bed. `up` may be called by many processes at once: one starts it, the others find it."""

    def __init__(self, index: int = 0, report: Callable[[str], None] = print) -> None:
        self.instance = Instance(index)
        self.parts = Parts(self.instance, report)

    def up(self, nodes: int = 0, kwok: int = 0, *, keep: bool = True, claim: IO[str] | None = None) -> None:
        """Make sure that a healthy cluster of at least this size runs.

        `keep` is False where tests start it for themselves: the last of them then ends it. With `claim`,
        the open file of `users_file`, the caller counts as a user until the file is closed.
        """
        _require_root()
        self.parts.prepare(nodes, kwok)  # before the lock is taken, so that nobody waits for a build
        with self._calm(), self._locked(), self.users_file.open("w") as own:
            cleanup.refuse_strangers(self.instance)
            record = self._reusable() or self._start_anew(claim or own, keep=keep)
            if claim is not None:
                locks.take(claim, locks.SHARED)
            if nodes > record.nodes:
                self.parts.add_nodes(record.nodes, nodes)
                record = self._written(replace(record, nodes=nodes))
            if kwok > record.kwok:
                self.parts.add_simulated_nodes(record.kwok, kwok)
                record = self._written(replace(record, kwok=kwok))
            if keep and not record.keep:
                self._written(replace(record, keep=True))

    def add_gateway(self) -> None:
        """Make sure that a gateway for HTTPRoutes runs beside the cluster."""
        tools.binary(gateway.PROGRAM)
        self._add(gateway.PROGRAM, self._start_gateway)

    def add_usage(self) -> None:
        """Make sure that autoscalers can ask what pods use."""
        tools.binary(metrics_server.PROGRAM)
        self._add(metrics_server.PROGRAM, self.parts.add_usage)

    def add_kueue(self) -> None:
        """Make sure that jobs can be queued."""
        tools.binary(kueue.PROGRAM)
        self._add(kueue.PROGRAM, self._start_kueue)

    def add_coscheduling(self) -> None:
        """Make sure that a scheduler with the Coscheduling plugin runs beside the cluster's."""
        tools.binary(coscheduling.PROGRAM)
        self._add(coscheduling.PROGRAM, self._start_coscheduling)

    def add_volcano(self) -> None:
        """Make sure that Volcano runs beside the cluster's scheduler."""
        tools.binaries((volcano.CONTROLLERS, volcano.SCHEDULER))
        self._add(volcano.COMPONENTS, self._start_volcano)

    def down(self, unless: Callable[[], bool] | None = None) -> None:
        """End the cluster and remove every trace of it.

        `unless` is asked when nobody can start or end the cluster any more: if true, it stays.
        """
        _require_root()
        with self._locked():
            if unless is None or not unless():
                cleanup.clean(self.instance)

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
    def authority(self) -> Authority:
        """The certificates of the running cluster."""
        return self.parts.authority

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.authority.kubeconfig("admin")

    @property
    def api(self) -> Api:
        """The API as administrator."""
        return self.parts.api

    @property
    def audit_log(self) -> Path:
        """Who wrote what and when, a JSON line each."""
        return self.parts.control_plane().audit_log

    @property
    def images(self) -> Images:
        """The test images, and the means to push others."""
        return self.parts.images

    def image(self, name: str) -> str:
        """The reference of a test image in the cluster's registry, built and pushed if need be."""
        return self.images.push(name, registry=self.instance.registry)

    def load_image(self, name: str, reference: str) -> None:
        """Put a test image into every node under a name that no registry answers to."""
        with tempfile.TemporaryDirectory() as directory:
            archive = Path(directory) / "image.tar"
            self.images.export(name, archive, reference)
            for number in range(1, self.record.nodes + 1):
                self.parts.node(number).load_image(archive)

    def kubectl(self, *arguments: str, given: str | None = None) -> str:
        """What kubectl prints, as administrator."""
        program = str(tools.binary("kubectl"))
        arguments = (f"--kubeconfig={self.kubeconfig}", *arguments)
        return run(program, *arguments, given=given, timeout=600, environment=NO_PROXIES)

    def install_custom_resources(self, tool: str) -> None:
        """Apply a peer's CRDs from its module and wait until they are served."""
        self.define(tools.module_files(tool, "crds"))

    def define(self, files: Path) -> None:
        """Apply definitions of kinds and wait until they are served."""
        applied = self.kubectl("apply", "--server-side", "--force-conflicts", "-o=name", "-f", str(files)).splitlines()
        for kind, _, name in (line.partition("/") for line in applied):
            if kind.startswith("customresourcedefinition."):
                until(f"{name} to be served", partial(self._serves, name), deadline=60)

    def _start_gateway(self) -> None:
        self.define(gateway.definitions())
        self.parts.add_gateway()

    def _start_kueue(self) -> None:
        self.install_custom_resources(kueue.PROGRAM)
        self.parts.add_kueue()

    def _start_coscheduling(self) -> None:
        self.install_custom_resources(coscheduling.PROGRAM)
        self.parts.add_coscheduling()

    def _start_volcano(self) -> None:
        for files in ("crds", "flows"):  # its controllers wait for the latter, and open no queue before
            self.define(tools.module_files(volcano.TOOL, files))
        self.parts.add_volcano()

    def _add(self, components: str | tuple[str, ...], start: Callable[[], None]) -> None:
        added = (components,) if isinstance(components, str) else components
        with self._calm(), self._locked():
            record = self.record
            if not set(added) <= set(record.beside):
                start()
                self._written(replace(record, beside=(*record.beside, *added)))

    def _serves(self, name: str) -> bool:
        """Whether a kind is found and told of to who asks what there is: that comes a moment after its definition."""
        definition = self.api.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
        versions = [one["name"] for one in definition["spec"]["versions"] if one["served"]]
        places = [f"/apis/{group}", *(f"/apis/{group}/{version}/{plural}?limit=1" for version in versions)]
        return is_true(definition, "Established") and all(map(self.api.exists, places))

    @contextmanager
    def _calm(self) -> Iterator[None]:
        """No test breaks things meanwhile: what it broke would be taken for damage, and mended or cleaned away."""
        with self.instance.lock(TURN).open("w") as file:
            free = partial(locks.take_if_free, file, locks.SHARED)
            until("the test that runs alone to end", free, deadline=600, interval=0.01)
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One start or stop at a time on this machine."""
        with locks.held(self.instance.lock("lock")):
            yield

    def _reusable(self) -> Record | None:
        """The record of the running cluster, if it is whole, healthy and of this code."""
        record = Record.read(self.instance.state)
        if record is None or record.fingerprint != _fingerprint():
            return None
        running = set(processes.components(self.instance.index))
        spaces = {self.instance.node(number).network_namespace for number in range(1, record.nodes + 1)}
        if running != record.components() or set(network.namespaces(self.instance)) != spaces:
            return None
        self._undo_faults(record)
        try:
            until("the API server to answer", self.api.healthy, deadline=60)
            self.parts.wait_ready(record.nodes, deadline=60)
        except TestbedError:
            return None
        return record

    def _undo_faults(self, record: Record) -> None:
        """A test that was killed may have left something frozen or cut off."""
        processes.send(processes.find(self.instance.index), signal.SIGCONT)
        for number in range(1, record.nodes + 1):
            network.join(self.instance.node(number))

    def _start_anew(self, users: IO[str], *, keep: bool) -> Record:
        """Clean away what there is, but not under the feet of running tests, and start a control plane."""
        if not locks.take_if_free(users, locks.EXCLUSIVE):
            raise TestbedError(
                f"instance {self.instance.index} is used by running tests, and it is not healthy or was started by "
                "other code; wait for them, or choose another INSTANCE"
            )
        before = Record.read(self.instance.state)
        cleanup.clean(self.instance)
        self.parts.start_control_plane()
        # A cluster that somebody wanted to keep is kept even if it had to be built anew.
        return self._written(Record(_fingerprint(), keep=keep or (before is not None and before.keep)))

    def _written(self, record: Record) -> Record:
        record.write(self.instance.state)
        return record


def _fingerprint() -> str:
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
