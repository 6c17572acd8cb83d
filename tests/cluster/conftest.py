"""Tests on a real control plane."""

from collections.abc import Iterator

import pytest

from harness.drivers.environment import Stage, stage
from proofs.seed import seed
from testbed.cluster import Cluster


def pytest_report_header() -> str:
    """By which a failed sample is repeated."""
    return f"SEED={seed()}"


@pytest.fixture(scope="session")
def cluster_fixture() -> str:
    """The tier's cluster has no nodes of its own."""
    return "control_plane"


@pytest.fixture(scope="session")
def ready_stage(control_plane: Cluster) -> Iterator[Stage]:
    """What all tests of the operator share."""
    with stage(control_plane) as ready:
        yield ready
