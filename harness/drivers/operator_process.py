"""KubeDL's operator as users run it: its own process, seen only through the API server and its address.

`with Operator(cluster) as operator:` returns when /readyz answers 200. An operator that died unasked makes
the block fail with the end of its log; a block that fails for another reason carries that end as a note.
"""

import base64
import hashlib
import os
import random
import socket
import sys
import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from harness.drivers.process import Process
from testbed import locks
from testbed.cluster import Cluster
from testbed.http import answers
from testbed.instance import chosen_index
from testbed.pki import Identity, write_kubeconfig
from testbed.waiting import until

USER = "kubedl-operator"
MODULE = "kubedl.entrypoints.operator"
ROOT = Path(__file__).parents[2]
CUSTOM_RESOURCES = ROOT / "deploy" / "chart" / "files" / "crds"
READY_DEADLINE = 180.0  # one that ends is noticed at once
PORTS = range(24_000, 32_000)  # below those that the kernel gives to outgoing connections
WORKERS = 8  # test processes at a time, at most, that share them out: half of them for odd instances

_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_given_ports: set[int] = set()
_installed: set[str] = set()


class Operator(Process):
    """One operator. Several may run at once; give them `leader_election=True` then, as in production."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        kubeconfig: Path | None = None,  # another than its own: a fault proxy's, another user's
        leader_election: bool = False,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,  # where its log goes; a new temporary directory unless told
        module: str = MODULE,
    ) -> None:
        self._cluster = cluster
        self._port = free_port()
        command = [sys.executable, "-m", module]
        command += [
            "--kubeconfig",
            str(kubeconfig or kubeconfig_of(cluster, USER)),
            "--address",
            f"127.0.0.1:{self._port}",
        ]
        command += [] if leader_election else ["--no-leader-election"]
        logs = directory or Path(tempfile.mkdtemp(prefix="kubedl-operator-"))
        super().__init__(
            [*command, *arguments],
            logs / f"operator-{self._port}.log",
            {"PYTHONPATH": str(ROOT / "src"), **(environment or {})},
            ROOT,
        )

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self.wait_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def start(self) -> None:
        """Start it without waiting; the custom resources are there before it is."""
        install_custom_resources(self._cluster)
        super().start()

    def restart(self, deadline: float = READY_DEADLINE) -> None:
        """Start again, at the same address, after `kill`, `stop` or `wait_ended`; one that runs is stopped first."""
        if self.alive:
            self.stop()
        self.start()
        self.wait_ready(deadline)

    @property
    def url(self) -> str:
        """Where it serves its probes and metrics."""
        return f"http://127.0.0.1:{self._port}"

    def wait_ready(self, deadline: float = READY_DEADLINE) -> None:
        """Wait until /readyz answers 200; if the process ends meanwhile that is an error at once."""
        until("the operator to be ready", lambda: self.insist() and self.ready(), deadline=deadline, interval=0.02)

    def ready(self) -> bool:
        """Whether /readyz answers 200 now; nobody there, or any other answer, is an OSError."""
        return answers(f"{self.url}/readyz")

    def metrics(self) -> dict[str, float]:
        """Every sample of /metrics, by its name with labels as they are printed."""
        with _opener.open(f"{self.url}/metrics", timeout=10) as response:
            return samples(response.read().decode())


def install_custom_resources(cluster: Cluster) -> None:
    """Apply the chart's CRDs and wait until every kind is served; a second call for the same cluster does nothing."""
    # A cluster that was built anew has another authority.
    content = b"".join(path.read_bytes() for path in sorted(CUSTOM_RESOURCES.glob("*.yaml")))
    known = hashlib.sha256(content + cluster.authority.certificate.read_bytes()).hexdigest()
    if known in _installed:
        return
    cluster.define(CUSTOM_RESOURCES)
    _installed.add(known)


def kubeconfig_of(cluster: Cluster, user: str) -> Path:
    """The kubeconfig of a user who may do everything, so that the audit log tells his writes from all others."""
    path = cluster.authority.kubeconfig(user)
    with locks.held(cluster.instance.lock(user)):
        if not path.exists():
            cluster.authority.issue(user, Identity(user, "system:masters"))
    return path


def kubeconfig_through(cluster: Cluster, server: str, path: Path) -> Path:
    """The administrator's kubeconfig with another address, that of a fault proxy before the API server."""
    certificate, key = cluster.authority.files("admin")
    write_kubeconfig(path, server, cluster.authority.certificate.read_bytes(), certificate.read_bytes(), key)
    return path


def write_checkpoint_key(directory: Path) -> Path:
    """Write a new key for the flag --checkpoint-key-file."""
    file = directory / "checkpoint-key"
    file.write_text(base64.b64encode(os.urandom(32)).decode())
    return file


def samples(text: str) -> dict[str, float]:
    """The samples of a Prometheus page without timestamps."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def free_port() -> int:
    """A loopback port that nobody listens on; this process never gives it out twice.

    Nor does another test process at the same time: who asks for one listens on it only later. Drawn at random, for the
    sake of other runs.
    """
    dice = random.Random(os.urandom(8))  # noqa: S311 not a secret; and not the seed that a test may have fixed
    while True:
        port = dice.choice(PORTS[_worker() % WORKERS :: WORKERS])
        with socket.socket() as probe:
            if port in _given_ports or probe.connect_ex(("127.0.0.1", port)) == 0:
                continue
        _given_ports.add(port)
        return port


def _worker() -> int:
    """Which of several test processes this is, also of those that test another cluster at the same time."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) + WORKERS // 2 * (chosen_index() % 2)
