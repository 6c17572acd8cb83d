"""Tests on a real control plane."""

from collections.abc import Iterator

import pytest

from harness.drivers.environment import Stage, stage
from testbed.cluster import Cluster
from tests import sampling


def pytest_report_header() -> str:
    """By which a failed sample is repeated."""
    return f"SEED={sampling.seed()}"


@pytest.fixture(scope="session")
def cluster_fixture() -> str:
    """The tier's cluster has no nodes of its own."""
    return "control_plane"


@pytest.fixture(scope="session")
def ready_stage(control_plane: Cluster) -> Iterator[Stage]:
    """What all tests of the operator share."""
    with stage(control_plane) as ready:
        yield ready
