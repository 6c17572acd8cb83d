"""Fixtures for tests on a real cluster: one cluster for all test processes, a namespace for each test.

A test marked `disruptive` breaks something that others share, so it runs alone.
"""

from collections.abc import Iterator

import pytest

from testbed import cluster_lock, namespaces
from testbed.cluster import Cluster
from testbed.faultproxy import FaultProxy
from testbed.faults import Faults
from testbed.instance import chosen_index

NODES = 2


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", "disruptive: breaks something shared, so it runs while no other test does")


@pytest.fixture(scope="session")
def control_plane() -> Iterator[Cluster]:
    """A cluster that has at least a control plane."""
    with cluster_lock.borrowed(_cluster()) as cluster:
        namespaces.remove_abandoned(cluster.api)
        yield cluster


@pytest.fixture(scope="session")
def two_nodes() -> Iterator[Cluster]:
    """A cluster that has at least two real nodes."""
    with cluster_lock.borrowed(_cluster(), nodes=NODES) as cluster:
        namespaces.remove_abandoned(cluster.api)
        yield cluster


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """The cluster of this tier (`cluster_fixture` in its conftest), during this test's turn."""
    chosen: Cluster = request.getfixturevalue(request.getfixturevalue("cluster_fixture"))
    alone = request.node.get_closest_marker("disruptive") is not None
    with cluster_lock.turn(chosen, alone=alone):
        yield chosen


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A fresh namespace."""
    with namespaces.fresh(cluster.api) as name:
        yield name


@pytest.fixture
def faults(cluster: Cluster, request: pytest.FixtureRequest) -> Faults:
    """Ways to break the cluster; only for tests that run alone."""
    if request.node.get_closest_marker("disruptive") is None:
        pytest.fail("a test that uses `faults` must be marked `disruptive`: others share the cluster")
    return Faults(cluster)


@pytest.fixture
def proxy(cluster: Cluster) -> Iterator[FaultProxy]:
    """A fault proxy before the API server, which it meets as administrator where a call brings no token."""
    certificate, key = cluster.authority.files("kube-apiserver")
    admin_certificate, admin_key = cluster.authority.files("admin")
    with FaultProxy(
        upstream=cluster.instance.server,
        certificate=certificate,
        key=key,
        authority=cluster.authority.certificate,
        client_certificate=admin_certificate,
        client_key=admin_key,
    ) as running:
        yield running


def _cluster() -> Cluster:
    return Cluster(chosen_index())
