"""Tests on real nodes with real containers."""

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from harness.drivers.operator_process import Operator, free_port, write_checkpoint_key
from harness.experiments import rbac_audit
from proofs.seed import seed
from testbed import gateway, locks, namespaces
from testbed.cluster import Cluster
from tests.e2e.workspace import Workspace


def pytest_report_header() -> str:
    """By which a failed sample is repeated."""
    return f"SEED={seed()}"


@pytest.fixture(scope="session")
def cluster_fixture() -> str:
    """The tier's cluster has two real nodes."""
    return "two_nodes"


@pytest.fixture(scope="session")
def image(two_nodes: Cluster) -> Callable[[str], str]:
    """The reference of an image of the test bed, pushed when it is first asked for."""
    return cache(two_nodes.image)


@pytest.fixture(scope="session")
def prometheus_port() -> int:
    """Where the operator asks for metrics; only the tests of serving build and start a Prometheus there."""
    return free_port()


@pytest.fixture(scope="session")
def checkpoint_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By which the operator proves itself; one for all test processes, since any of them may lead."""
    directory = tmp_path_factory.getbasetemp()
    shared = directory.parent if os.environ.get("PYTEST_XDIST_WORKER") else directory
    with locks.held(shared / "checkpoint-key.lock"):
        file = shared / "checkpoint-key"
        return file if file.exists() else write_checkpoint_key(shared)


@pytest.fixture(scope="session")
def operator(
    two_nodes: Cluster, image: Callable[[str], str], prometheus_port: int, checkpoint_key: Path
) -> Iterator[Operator]:
    """One for each test process, with the chart's rights and no others.

    They elect a leader, so it does not matter whose of them does the work.
    """
    # Nodes of the test bed count as lost after seconds; a minute more would only be waited for.
    arguments = (
        "--node-grace-seconds=5",
        f"--packer-image={image('kubedl')}",
        f"--gateway={gateway.NAMESPACE}/{gateway.NAME}",
        f"--checkpoint-key-file={checkpoint_key}",
        f"--prometheus=http://127.0.0.1:{prometheus_port}",
        # A leader that cannot renew for ten seconds rightly ends, and here nobody would start it again. When the
        # machine's host is busy, the API server of two cores and a dozen trainings may be silent for longer.
        "--lease-seconds=90",
        "--lease-renew-seconds=60",
    )
    kubeconfig = rbac_audit.kubeconfig(two_nodes)
    with Operator(two_nodes, kubeconfig=kubeconfig, leader_election=True, arguments=arguments) as running:
        yield running


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
