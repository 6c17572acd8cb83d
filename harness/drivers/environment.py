"""All that a test of the operator under faults needs of a cluster, set up once and used by many tests at once."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.drivers.cluster_watcher import ClusterWatcher
from harness.drivers.forkserver import ROOT, ForkServer
from harness.drivers.operator_process import install_custom_resources, write_checkpoint_key
from harness.fakes.fluid import FLUID
from harness.fakes.gang_schedulers import COSCHEDULING, VOLCANO
from harness.fakes.keda import KEDA
from harness.fakes.kruise import KRUISE
from harness.fakes.node import played_node
from testbed import gateway
from testbed.cluster import Cluster

OPERATOR = "kubedl.entrypoints.operator"
SOURCE = "KUBEDL_SOURCE"  # names another directory to import the operator from: a build that was broken on purpose
FULL = os.environ.get("PROOF_SIZE") == "full"


@dataclass(frozen=True)
class Stage:
    """A cluster, the means to start operators, and the test's own eyes and hands."""

    cluster: Cluster
    forkserver: ForkServer
    watcher: ClusterWatcher
    node: str
    directory: Path  # for logs
    checkpoint_key: Path


@contextmanager
def stage(cluster: Cluster) -> Iterator[Stage]:
    """Set up for a cluster that is there."""
    install_custom_resources(cluster)
    for foreign in (FLUID, KRUISE, KEDA, VOLCANO, COSCHEDULING):
        foreign.install(cluster)
    cluster.define(gateway.definitions())
    cluster.add_kueue()
    with (
        tempfile.TemporaryDirectory(prefix="kubedl-stage-") as directory,
        ForkServer(OPERATOR, Path(os.environ.get(SOURCE, ROOT / "src"))) as forkserver,
        ClusterWatcher(cluster) as watcher,
        played_node(watcher.connection) as node,
    ):
        yield Stage(cluster, forkserver, watcher, node, Path(directory), write_checkpoint_key(Path(directory)))


def times(small: int, full: int) -> int:
    """How often a fault is repeated: in CI, and where a claim is proved."""
    return full if FULL else small
