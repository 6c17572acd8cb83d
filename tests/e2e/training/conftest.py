"""Jobs with real frameworks on two real nodes, run by the operator as users run it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.drivers.operator_process import Operator
from testbed import namespaces
from testbed.cluster import Cluster
from tests.e2e.training import checkpoints
from tests.e2e.training.jobs import Training
from tests.e2e.training.observed import ObservedJob
from tests.e2e.workspace import Workspace

Submit = Callable[..., ObservedJob]


@pytest.fixture
def baseline_workspace(cluster: Cluster) -> Iterator[Workspace]:
    """A fresh namespace for what people submit without a security context: PodSecurity restricted refuses it."""
    with namespaces.fresh(cluster.api, "e2e", {"pod-security.kubernetes.io/enforce": "baseline"}) as name:
        yield Workspace(cluster, name)


@pytest.fixture
def submit(workspace: Workspace, operator: Operator, image: Callable[[str], str], tmp_path: Path) -> Iterator[Submit]:
    """Create a training's job in a namespace of its own."""
    with checkpoints.shared(workspace, tmp_path) as shared:

        def create(training: Training, *, held: bool = False) -> ObservedJob:
            operator.insist()
            job = ObservedJob(workspace, training, shared)
            job.create(image(training.image), held=held)
            return job

        yield create
