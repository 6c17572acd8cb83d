"""All that a test of the operator under faults needs of a cluster, set up once and used by many tests at once."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.fluid import FLUID
from harness.keda import KEDA
from harness.kruise import KRUISE
from harness.node import played_node
from harness.nursery import ROOT, Nursery
from harness.operator import install_custom_resources
from harness.sightings import Sightings
from testbed import gateway
from testbed.cluster import Cluster

OPERATOR = "kubedl.main.operator"
SOURCE = "KUBEDL_SOURCE"  # names another directory to import the operator from: a build that was broken on purpose
FULL = os.environ.get("PROOF_SIZE") == "full"


@dataclass(frozen=True)
class Stage:
    """A cluster, the means to start operators, and the test's own eyes and hands."""

    cluster: Cluster
    nursery: Nursery
    sightings: Sightings
    node: str
    directory: Path  # for logs


@contextmanager
def stage(cluster: Cluster) -> Iterator[Stage]:
    """Set up for a cluster that is there."""
    install_custom_resources(cluster)
    for foreign in (FLUID, KRUISE, KEDA):
        foreign.install(cluster)
    cluster.define(gateway.definitions())
    with (
        tempfile.TemporaryDirectory(prefix="kubedl-stage-") as directory,
        Nursery(OPERATOR, Path(os.environ.get(SOURCE, ROOT / "src"))) as nursery,
        Sightings(cluster) as sightings,
        played_node(sightings.connection) as node,
    ):
        yield Stage(cluster, nursery, sightings, node, Path(directory))


def times(small: int, full: int) -> int:
    """How often a fault is repeated: in CI, and where a claim is proved."""
    return full if FULL else small
