"""Who answers behind a Service, as gateways see it."""

from typing import Any

import pytest

from kubedl.kube import codec
from kubedl.kube.types.apps import Deployment
from kubedl.kube.types.discovery import SERVICE_OF, EndpointSlice, ready_endpoints


def piece(service: str, *endpoints: dict[str, Any]) -> EndpointSlice:
    """A part of a Service's addresses."""
    body = {"metadata": {"labels": {SERVICE_OF: service}}, "endpoints": list(endpoints)}
    return codec.decode(codec.encode(body), EndpointSlice)


def pod(name: str, ready: bool | None = True, address: str = "10.0.0.1") -> dict[str, Any]:
    """One of them."""
    conditions = {} if ready is None else {"ready": ready}
    return {"addresses": [address], "conditions": conditions, "targetRef": {"name": name}}


def test_only_those_that_are_ready_count() -> None:
    """A pod that leaves is not; of whom nothing is said is, by the API's word."""
    found = ready_endpoints([piece("a", pod("one"), pod("two", ready=False), pod("three", ready=None)), piece("b")])
    assert found == {"a": 2, "b": 0}


def test_a_pod_with_two_addresses_is_one() -> None:
    """Each family of addresses has slices of its own."""
    assert ready_endpoints([piece("a", pod("one")), piece("a", pod("one", address="fd00::1"))]) == {"a": 1}


def test_a_service_without_endpoints_may_say_null() -> None:
    body = {"metadata": {"labels": {SERVICE_OF: "a"}}, "endpoints": None}
    assert ready_endpoints([codec.decode(codec.encode(body), EndpointSlice)]) == {"a": 0}


@pytest.mark.parametrize(
    ("change", "settled"),
    [
        ({}, True),
        ({"observedGeneration": 1}, False),
        ({"updatedReplicas": 1}, False),
        ({"replicas": 3}, False),
        ({"availableReplicas": 1}, False),
    ],
    ids=["whole", "not seen yet", "old pods", "one too many", "one not ready"],
)
def test_a_deployment_is_settled_when_nothing_else_runs(change: dict[str, int], settled: bool) -> None:
    status = {"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2, **change}
    body = {"metadata": {"generation": 2}, "spec": {"replicas": 2}, "status": status}
    assert codec.decode(codec.encode(body), Deployment).is_settled is settled
