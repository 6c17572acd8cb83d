"""KubeDL's recorder as users run it: its own process beside a cluster, with a database.

`with Recorder(cluster, url) as recorder:` returns when its address answers. Whether it records shows in its database.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from harness.drivers.operator_process import free_port, install_custom_resources, kubeconfig_of
from harness.drivers.process import Process
from testbed.cluster import Cluster
from testbed.http import answers
from testbed.waiting import until

USER = "kubedl-recorder"
ROOT = Path(__file__).parents[2]
DEADLINE = 60.0  # a busy machine takes long to start one


class Recorder(Process):
    """One recorder. Several may run at once: they share a Lease."""

    def __init__(
        self,
        cluster: Cluster,
        url: str,
        directory: Path,
        *arguments: str,
        name: str = "recorder",
        environment: Mapping[str, str] | None = None,
        kubeconfig: Path | None = None,
    ) -> None:
        """`url` is that of the database; the log goes to a directory."""
        self._cluster, self._port = cluster, free_port()
        command = [sys.executable, "-m", "kubedl.entrypoints.recorder", "run", "--cluster", "test"]
        identity = kubeconfig or kubeconfig_of(cluster, USER)
        command += ["--kubeconfig", str(identity), "--address", f"127.0.0.1:{self._port}"]
        given = {"PYTHONPATH": str(ROOT / "src"), "KUBEDL_HISTORY_DATABASE": url, **(environment or {})}
        super().__init__([*command, *arguments], directory / f"{name}.log", given, ROOT)

    def __enter__(self) -> Self:
        install_custom_resources(self._cluster)
        super().__enter__()
        try:
            self.wait_serving()
        except BaseException:
            self.kill()
            raise
        return self

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._port}"

    def wait_serving(self) -> None:
        """Wait until it answers, leader or not."""
        address = f"{self.url}/healthz"
        until("the recorder to answer", lambda: self.insist() and answers(address), deadline=DEADLINE, interval=0.05)
