"""The chart on two real nodes, where no other operator may serve meanwhile: `make test-install` runs them apart."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.drivers.installation import Installation, installed
from testbed.cluster import Cluster

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One installation at a time serves a cluster, so each of these tests has it for itself."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.disruptive)


@pytest.fixture
def installation(cluster: Cluster) -> Iterator[Installation]:
    """For the whole cluster, with the chart's own values; nodes of the test bed count as lost after seconds."""
    with installed(cluster, {"operator": {"nodeGraceSeconds": 5}}) as ready:
        yield ready
