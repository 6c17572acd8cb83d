"""The operator behind a fault proxy, many jobs, and a namespace for each test."""

from collections.abc import Iterator

import pytest

from harness.drivers.environment import Stage
from harness.drivers.proxied_operator import ProxiedOperator
from harness.scenarios.many_jobs import Fleet


@pytest.fixture
def operator(ready_stage: Stage, namespace: str) -> Iterator[ProxiedOperator]:
    """One operator for the test's namespace, running."""
    arguments = ("--no-leader-election", "--namespace", namespace)
    with ProxiedOperator(ready_stage, namespace, arguments) as running:
        running.start()
        yield running


@pytest.fixture
def fleet(ready_stage: Stage, namespace: str, operator: ProxiedOperator) -> Fleet:
    """The jobs of that namespace; an operator that ends unasked fails the test."""
    return Fleet(ready_stage, namespace, tend=operator.insist)
