"""Tests on real nodes with real containers."""

from collections.abc import Iterator

import pytest

from testbed import namespaces
from testbed.cluster import Cluster
from tests.e2e.workspace import Workspace


@pytest.fixture(scope="session")
def cluster_fixture() -> str:
    """The tier's cluster has two real nodes."""
    return "two_nodes"


@pytest.fixture
def workspace(cluster: Cluster) -> Iterator[Workspace]:
    """A fresh namespace that admits only what PodSecurity *restricted* allows."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    with namespaces.fresh(cluster.api, "e2e", labels) as name:
        yield Workspace(cluster, name)


@pytest.fixture(scope="session")
def base_image(two_nodes: Cluster) -> str:
    """Debian with Python."""
    return two_nodes.image("base")


@pytest.fixture(scope="session")
def torch_image(two_nodes: Cluster) -> str:
    """Debian's PyTorch on the CPU, with gloo."""
    return two_nodes.image("torch")
