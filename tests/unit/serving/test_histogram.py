"""A gateway's histogram, read and estimated as Prometheus does it."""

from math import inf, isclose

import pytest

from kubedl.serving.histogram import Counted, quantile, read

NAME = "traefik_service_request_duration_seconds"
PAGE = """# HELP traefik_service_request_duration_seconds How long it took.
# TYPE traefik_service_request_duration_seconds histogram
traefik_service_request_duration_seconds_bucket{code="200",method="GET",protocol="http",service="a",le="0.1"} 90
traefik_service_request_duration_seconds_bucket{code="200",method="GET",protocol="http",service="a",le="+Inf"} 95
traefik_service_request_duration_seconds_sum{code="200",method="GET",protocol="http",service="a"} 3.5
traefik_service_request_duration_seconds_count{code="200",method="GET",protocol="http",service="a"} 95
traefik_service_request_duration_seconds_bucket{code="503",method="GET",protocol="http",service="a",le="0.1"} 5
traefik_service_request_duration_seconds_bucket{code="503",method="GET",protocol="http",service="a",le="+Inf"} 5
traefik_service_request_duration_seconds_sum{code="503",method="GET",protocol="http",service="a"} 0.1
traefik_service_request_duration_seconds_count{code="503",method="GET",protocol="http",service="a"} 5
traefik_service_request_duration_seconds_count{code="500",method="GET",protocol="http",service="b"} 7
# TYPE traefik_service_requests_total counter
traefik_service_requests_total{code="200",method="GET",protocol="http",service="a"} 95
"""


def test_all_codes_of_one_service_are_counted() -> None:
    assert read(PAGE, NAME, "a") == Counted(100, 5, {0.1: 95, inf: 100})


def test_a_service_that_is_not_there_has_had_no_requests() -> None:
    assert read(PAGE, NAME, "c") == Counted()


def test_a_page_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ValueError, match="could not convert"):
        read(f'{NAME}_count{{service="a"}} many\n', NAME, "a")


def test_what_came_since() -> None:
    before = Counted(10, 1, {0.1: 9, inf: 10})
    assert Counted(100, 5, {0.1: 95, inf: 100}).minus(before) == Counted(90, 4, {0.1: 86, inf: 90})


def test_all_is_new_when_nothing_was_there() -> None:
    now = Counted(100, 5, {0.1: 95, inf: 100})
    assert now.minus(Counted()) == now


@pytest.mark.parametrize(
    ("part", "buckets", "expected"),
    [
        (0.5, {0.1: 100, 0.3: 100, inf: 100}, 0.05),
        (0.99, {0.1: 90, 0.3: 100, inf: 100}, 0.1 + 0.2 * 0.9),
        (0.99, {0.1: 99, 0.3: 100, inf: 100}, 0.1),
        (0.99, {0.1: 90, 0.3: 90, inf: 100}, inf),
        (0.0, {0.1: 0, 0.3: 100, inf: 100}, 0.1),
    ],
)
def test_a_quantile(part: float, buckets: dict[float, float], expected: float) -> None:
    found = quantile(part, buckets)
    assert found is not None
    assert found == expected or isclose(found, expected)


@pytest.mark.parametrize("buckets", [{}, {inf: 3}, {0.1: 0, inf: 0}])
def test_of_nothing_there_is_no_quantile(buckets: dict[float, float]) -> None:
    assert quantile(0.99, buckets) is None
