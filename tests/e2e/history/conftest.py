"""The chart with a recorder on two real nodes, where no other operator may serve meanwhile.

Apart from the other tests: the storage and the collector that they need take minutes to build, so CI does not run them.
"""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One installation at a time serves a cluster, so each of these tests has it for itself."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.disruptive)
