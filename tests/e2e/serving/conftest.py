"""Inferences behind a real gateway."""

from collections.abc import Iterator

import pytest

from harness.drivers.operator_process import Operator
from harness.drivers.prometheus import RealPrometheus
from testbed import gateway, namespaces
from testbed.cluster import Cluster
from tests.e2e.serving import inferences
from tests.e2e.serving.inferences import ObservedInference
from tests.e2e.workspace import Workspace


@pytest.fixture(scope="session")
def behind_gateway(two_nodes: Cluster, prometheus_port: int) -> Iterator[Cluster]:
    """A cluster that has a gateway, and a Prometheus that looks at it."""
    two_nodes.add_gateway()
    with RealPrometheus(gateway.metrics(two_nodes.instance), port=prometheus_port):
        yield two_nodes


@pytest.fixture
def serving(behind_gateway: Cluster, workspace: Workspace, operator: Operator) -> Workspace:
    """A namespace with the scripts of the predictors, an operator, and a gateway."""
    assert behind_gateway is workspace.cluster
    operator.insist()
    workspace.create("configmaps", inferences.scripts())
    return workspace


@pytest.fixture
def neighbour(behind_gateway: Cluster, serving: Workspace) -> Iterator[Workspace]:
    """Another team's namespace."""
    assert serving.cluster is behind_gateway
    with namespaces.fresh(behind_gateway.api, "e2e", {"pod-security.kubernetes.io/enforce": "restricted"}) as name:
        workspace = Workspace(behind_gateway, name)
        workspace.create("configmaps", inferences.scripts())
        yield workspace


@pytest.fixture
def inference(serving: Workspace) -> ObservedInference:
    """One that is not made yet."""
    return ObservedInference(serving)
