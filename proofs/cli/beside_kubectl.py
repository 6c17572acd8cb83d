"""`kubedl list` beside `kubectl get` on a real API server: `python -m proofs.cli.beside_kubectl`.

Both list the same PyTorchJobs; kubedl lists all kinds. They take turns, so that both meet the same machine. The last
line is JSON: medians in milliseconds, and seconds of the long list.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from devtools.lint_repo import ROOT
from harness.drivers.environment import FULL
from harness.drivers.operator_process import install_custom_resources
from testbed import cluster_lock, namespaces, tools
from testbed.cluster import Cluster
from testbed.instance import chosen_index

PROCESSES = 10
FEW, MANY = 100, 10_000 if FULL else 1000


def main() -> int:
    """Print the figures."""
    with (
        cluster_lock.borrowed(Cluster(chosen_index())) as cluster,
        namespaces.fresh(cluster.api, "list") as namespace,
        TemporaryDirectory() as cache,
    ):
        install_custom_resources(cluster)
        where = ["-n", namespace, "--kubeconfig", str(cluster.kubeconfig)]
        ours = [sys.executable, "-m", "kubedl.entrypoints.command", "list", *where]
        theirs = [str(tools.binary("kubectl")), "get", "pytorchjobs", *where]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_CACHE_HOME": cache}
        environment |= {"PYTHONPYCACHEPREFIX": str(Path(cache) / "pyc"), "PYTHONDONTWRITEBYTECODE": ""}
        _create(cluster, namespace, range(FEW))
        _seconds(ours, environment)
        times = [(_seconds(ours, environment), _seconds(theirs, environment)) for _ in range(PROCESSES)]
        list_ms, get_ms = (round(1000 * statistics.median(column)) for column in zip(*times, strict=True))
        _create(cluster, namespace, range(FEW, MANY))
        long = statistics.median(_seconds(ours, environment) for _ in range(3))
    figures = {"list ms": list_ms, "kubectl ms": get_ms, "ratio": round(list_ms / get_ms, 2), "jobs": MANY}
    print(json.dumps(figures | {"long list s": round(long, 2)}))
    return 0


def _create(cluster: Cluster, namespace: str, numbers: range) -> None:
    path = f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/pytorchjobs"
    role = {"template": {"spec": {"containers": [{"name": "pytorch", "image": "none"}]}}}

    def create(number: int) -> None:
        body = {"apiVersion": "training.kubedl.io/v1alpha1", "kind": "PyTorchJob", "metadata": {"name": f"j{number}"}}
        cluster.api.create(path, {**body, "spec": {"pytorchReplicaSpecs": {"Master": role}}})

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(create, numbers))


def _seconds(command: list[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
