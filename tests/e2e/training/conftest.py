"""Jobs with real frameworks on two real nodes, run by the operator as users run it."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from harness.operator import Operator
from testbed.cluster import Cluster
from tests.e2e.training import checkpoints
from tests.e2e.training.jobs import Training
from tests.e2e.training.observed import ObservedJob
from tests.e2e.workspace import Workspace

Submit = Callable[..., ObservedJob]
# Nodes of the test bed count as lost after seconds; a minute more would only be waited for.
ARGUMENTS = ("--node-grace-seconds=5",)


@pytest.fixture(scope="session")
def operator(two_nodes: Cluster) -> Iterator[Operator]:
    """One for each test process. They elect a leader, so it does not matter whose of them does the work."""
    with Operator(two_nodes, leader_election=True, arguments=ARGUMENTS) as running:
        yield running


@pytest.fixture(scope="session")
def image(two_nodes: Cluster) -> Callable[[str], str]:
    """The reference of an image of the test bed, pushed when it is first asked for."""
    return cache(two_nodes.image)


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
