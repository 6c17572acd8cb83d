"""Tests of the chart that need Helm and promtool and no cluster."""

import pytest

from harness.drivers.helm import Helm


@pytest.fixture(scope="session")
def helm() -> Helm:
    """Built when first asked for."""
    return Helm()
