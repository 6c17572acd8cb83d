"""Shares of an Inference's requests, and the route that tells gateways of them."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.kube import codec
from kubedl.serving.routing import (
    HTTP_ROUTES,
    PATIENCE,
    SETTLING,
    SINCE,
    Backend,
    GatewayRef,
    HTTPRoute,
    effective,
    hostname,
    percents,
    refusal,
    route,
    says,
    until_left,
)
from tests.hypothesis_settings import tried

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GATEWAY = GatewayRef("public", "gateways")
OWNER = {"apiVersion": "serving.kubedl.io/v1alpha1", "kind": "Inference", "name": "hello", "uid": "u"}

BACKENDS = st.lists(st.tuples(st.integers(0, 100) | st.integers(0, 10_000), st.booleans()), max_size=16).map(
    lambda drawn: [Backend(f"p{number}", 8080, weight, ready) for number, (weight, ready) in enumerate(drawn)]
)


def backends(*weights: int, gone: tuple[int, ...] = ()) -> list[Backend]:
    """Backends p0, p1 … with these weights; those numbered in `gone` are not ready."""
    return [Backend(f"p{number}", 8080, weight, number not in gone) for number, weight in enumerate(weights)]


def body(shared: list[Backend], found: HTTPRoute | None = None, now: datetime = NOW) -> dict[str, Any]:
    """The route of these backends."""
    host = hostname("hello", "team", "example.org")
    return route("hello", "team", host, GATEWAY, shared, OWNER, current=found, now=now)


def served(applied: dict[str, Any], generation: int = 1, status: dict[str, Any] | None = None) -> HTTPRoute:
    """The route as it comes from the API server."""
    metadata = {**applied["metadata"], "generation": generation, "ownerReferences": []}
    return HTTP_ROUTES.decoder.decode(codec.encode({**applied, "metadata": metadata, "status": status or {}}))


def parent(generation: int = 1, name: str = GATEWAY.name, **conditions: str) -> dict[str, Any]:
    """What a gateway says: the status of each condition."""
    said = [
        {"type": kind, "status": status, "reason": f"{kind}{status}", "message": "m", "observedGeneration": generation}
        for kind, status in conditions.items()
    ]
    return {"parents": [{"parentRef": {"name": name, "namespace": GATEWAY.namespace}, "conditions": said}]}


@pytest.mark.parametrize(
    ("weights", "gone", "expected"),
    [
        ((30, 50, 20), (), [30, 50, 20]),
        ((30, 50, 20), (1,), [60, 0, 40]),
        ((30, 50, 20), (0, 1), [0, 0, 100]),
        ((30, 50, 20), (0, 1, 2), [0, 0, 0]),
        ((1, 1, 1), (), [1, 1, 1]),
        ((100, 100, 100), (), [1, 1, 1]),
        ((100, 0), (), [100, 0]),
        ((100, 0), (0,), [0, 0]),
        ((100, 100, 1), (), [100, 100, 1]),
        ((990, 10, 9000), (), [99, 1, 900]),  # a hundredth of a tenth
        ((7,), (), [100]),
        ((), (), []),
    ],
)
def test_shares(weights: tuple[int, ...], gone: tuple[int, ...], expected: list[int]) -> None:
    assert list(effective(backends(*weights, gone=gone)).values()) == expected


@given(BACKENDS)
@tried(60)
def test_the_whole_is_shared_among_the_ready(shared: list[Backend]) -> None:
    """All of it, by those alone that are ready and wanted; in percent, each of them has at least one."""
    weights = effective(shared)
    takers = {one.name for one in shared if one.ready and one.weight}
    assert {name for name, weight in weights.items() if weight} == takers
    assert {name for name, percent in percents(weights).items() if percent} == takers
    assert sum(percents(weights).values()) == (100 if takers else 0)


@given(BACKENDS)
@tried(60)
def test_shares_are_exact(shared: list[Backend]) -> None:
    """Gateways divide by the sum, so nothing needs to be rounded; no weight is larger than Gateway API allows."""
    takers = {one.name: one.weight for one in shared if one.ready and one.weight}
    weights = effective(shared)
    for name, weight in takers.items():
        assert Fraction(weights[name], sum(weights.values())) == Fraction(weight, sum(takers.values()))
        assert weights[name] <= 1_000_000


@given(BACKENDS)
@tried(60)
def test_percents_are_as_near_to_the_weights_as_whole_ones_can_be(shared: list[Backend]) -> None:
    """Each within one of its exact share, or within as many as had to be given to those under one."""
    takers = {one.name: one.weight for one in shared if one.ready and one.weight}
    total, told = sum(takers.values()), percents(effective(shared))
    small = sum(weight * 100 < total for weight in takers.values())
    for name, weight in takers.items():
        assert abs(told[name] - weight * 100 / total) < 1 + small


@pytest.mark.parametrize("weight", [2, 10, 50])
@pytest.mark.parametrize("percent", [1, 5, 100])
def test_a_small_part_of_a_small_share_is_as_small_as_asked(weight: int, percent: int) -> None:
    """One percent of a predictor with a tenth of the requests is a thousandth, and not a hundredth."""
    parts = backends(weight * (100 - percent), weight * percent, (100 - weight) * 100)
    weights = effective(parts)
    assert weights["p1"] / sum(weights.values()) == pytest.approx(weight * percent / 10_000)


@given(BACKENDS)
@tried(60)
def test_who_wants_more_never_gets_less(shared: list[Backend]) -> None:
    shares = effective(shared)
    ranked = sorted((one for one in shared if one.ready), key=lambda one: one.weight)
    for less, more in pairwise(ranked):
        assert shares[less.name] <= shares[more.name] or less.weight == more.weight


@given(BACKENDS)
@tried(50)
def test_a_route_names_whoever_has_a_share_and_nobody_else(shared: list[Backend]) -> None:
    """A Service that is missing would spoil the route, so one without a share is not in it."""
    refs = body(shared)["spec"]["rules"][0]["backendRefs"]
    if any(effective(shared).values()):
        assert {ref["name"]: ref["weight"] for ref in refs} == {k: v for k, v in effective(shared).items() if v}
    assert all(ref["weight"] > 0 for ref in refs)


def test_a_route() -> None:
    assert body(backends(30, 50, 20, gone=(1,))) == {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {
            "name": "hello",
            "namespace": "team",
            "ownerReferences": [OWNER],
            "annotations": {SINCE: NOW.isoformat()},
        },
        "spec": {
            "parentRefs": [{"name": "public", "namespace": "gateways"}],
            "hostnames": ["hello.team.example.org"],
            "rules": [
                {
                    "backendRefs": [
                        {"name": "p0", "port": 8080, "weight": 60},
                        {"name": "p2", "port": 8080, "weight": 40},
                    ]
                }
            ],
        },
    }


def test_a_listener_can_be_chosen() -> None:
    made = route("hello", "team", "h", GatewayRef("public", "gateways", "web"), backends(1), OWNER)
    assert made["spec"]["parentRefs"] == [{"name": "public", "namespace": "gateways", "sectionName": "web"}]


def test_when_nobody_is_ready_the_route_waits_for_all() -> None:
    """So that the first to come back answers even if no operator is there."""
    refs = body(backends(30, 50, 20, gone=(0, 1, 2)))["spec"]["rules"][0]["backendRefs"]
    assert [ref["weight"] for ref in refs] == [30, 50, 20]


def test_a_route_says_what_it_was_made_to_say() -> None:
    wanted = body(backends(30, 70))
    assert says(served(wanted), wanted)


@pytest.mark.parametrize(
    "other",
    [
        body(backends(40, 60)),
        body(backends(30, 70, gone=(1,))),
        route("hello", "team", "other", GATEWAY, backends(30, 70), OWNER),
        route("hello", "team", "hello.team.example.org", GatewayRef("b", "c"), backends(30, 70), OWNER),
    ],
)
def test_a_route_that_says_something_else_is_noticed(other: dict[str, Any]) -> None:
    assert not says(served(other), body(backends(30, 70)))


def test_the_moment_of_the_last_change_is_kept() -> None:
    """Until shares change again."""
    first, later = served(body(backends(30, 70))), NOW + timedelta(hours=1)
    assert body(backends(30, 70), first, later)["metadata"]["annotations"][SINCE] == NOW.isoformat()
    assert body(backends(40, 60), first, later)["metadata"]["annotations"][SINCE] == later.isoformat()


def test_who_is_in_the_route_may_not_go() -> None:
    assert until_left(served(body(backends(30, 70))), "p1", NOW + timedelta(days=1)) is None


@pytest.mark.parametrize(
    ("after", "left"),
    [
        (timedelta(), SETTLING),
        (timedelta(seconds=1), SETTLING - timedelta(seconds=1)),
        (SETTLING, timedelta()),
        (timedelta(days=1), timedelta()),
        (timedelta(days=-1), SETTLING),  # a clock that was set back
    ],
)
def test_who_has_left_the_route_may_go_when_gateways_have_followed(after: timedelta, left: timedelta) -> None:
    found = served(body(backends(30, 70, gone=(1,))), status=parent(Accepted="True"))
    assert until_left(found, "p1", NOW + after) == left


def test_a_gateway_that_has_not_seen_the_route_is_waited_for() -> None:
    """But not for ever: it may be gone."""
    found = served(body(backends(30, 70, gone=(1,))), generation=2, status=parent(1, Accepted="True"))
    assert until_left(found, "p1", NOW + SETTLING) == SETTLING
    assert until_left(found, "p1", NOW + PATIENCE) == timedelta()


def test_without_a_route_nobody_is_waited_for() -> None:
    assert until_left(None, "p1", NOW) == timedelta()


@pytest.mark.parametrize("written", ["yesterday", "2026-01-01T00:00:00"])
def test_a_moment_that_cannot_be_read_is_now(written: str) -> None:
    made = body(backends(30, 70, gone=(1,)))
    made["metadata"]["annotations"][SINCE] = written
    assert until_left(served(made), "p1", NOW) == SETTLING


@pytest.mark.parametrize(
    "written", ["yesterday", "2026-01-01T00:00:00", (NOW + timedelta(hours=1)).isoformat()], ids=str
)
def test_a_moment_that_is_always_now_is_replaced(written: str) -> None:
    """By an edit, or by a clock that was ahead: whoever left the route would be kept until that moment."""
    made = body(backends(30, 70))
    made["metadata"]["annotations"][SINCE] = written
    wanted = body(backends(30, 70), served(made), NOW)
    assert wanted["metadata"]["annotations"][SINCE] == NOW.isoformat()
    assert not says(served(made), wanted)
    assert says(served(wanted), body(backends(30, 70), served(wanted), NOW + timedelta(seconds=1)))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (parent(Accepted="True", ResolvedRefs="True"), None),
        (parent(Accepted="False"), ("AcceptedFalse", "HTTPRoute hello: m")),
        (parent(Accepted="True", ResolvedRefs="False"), ("ResolvedRefsFalse", "HTTPRoute hello: m")),
        ({}, ("GatewaySilent", "Gateway gateways/public has not accepted HTTPRoute hello yet")),
        (
            parent(name="another", Accepted="True"),
            ("GatewaySilent", "Gateway gateways/public has not accepted HTTPRoute hello yet"),
        ),
    ],
)
def test_a_gateway_that_refuses_is_heard(status: dict[str, Any], expected: tuple[str, str] | None) -> None:
    assert refusal(served(body(backends(30, 70)), status=status), GATEWAY) == expected
