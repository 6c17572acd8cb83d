"""`kubedl` as a person runs it: a process with the kubeconfig of a cluster, and a cache of its own."""

import subprocess
import sys
from pathlib import Path

from harness.drivers.operator_process import ROOT
from testbed.cluster import Cluster

Done = subprocess.CompletedProcess[str]


def kubedl(
    cluster: Cluster, namespace: str, cache: Path, *words: str, directory: Path = ROOT, timeout: float = 300
) -> Done:
    """Run a command in a namespace, as administrator."""
    where = ("-n", namespace, "--kubeconfig", str(cluster.kubeconfig))
    return subprocess.run(
        [sys.executable, "-m", "kubedl.entrypoints.command", *where, *words],
        cwd=directory,
        env={"PYTHONPATH": str(ROOT / "src"), "XDG_CACHE_HOME": str(cache), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
