"""Tests of the console in a real browser, on a real control plane."""

import pytest


@pytest.fixture(scope="session")
def cluster_fixture() -> str:
    """The tier's cluster has no nodes of its own."""
    return "control_plane"
