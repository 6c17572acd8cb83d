"""Dates that no calendar has are refused by the API server, and whatever comes past it hides no job."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from kubedl.api.validation.spot import DATE, spot_rules
from kubedl.training.spot.terms import DateError, deadline_of, moment_of
from tests.training_builders import NOW, after
from tests.unit.training.spot.dates import BAD, GOOD
from tests.unit.training.spot.market import market, spot_job
from tests.unit.training.spot.test_pools import WORK, reason


def deadline_schema() -> dict[str, Any]:
    crd = spot_job().kind.custom_resource.definition()
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    found: dict[str, Any] = spec["properties"]["spot"]["properties"]["deadline"]
    return found


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_date_does_not_match(text: str) -> None:
    assert re.search(DATE, text) is None


@pytest.mark.parametrize("text", GOOD)
def test_what_matches_is_understood(text: str) -> None:
    assert re.search(DATE, text) is not None
    builder = spot_job(deadline=text, work=WORK)
    found = deadline_of(builder.build().spec.spot, None)
    assert found is not None
    assert (found.tzinfo, found.microsecond) == (UTC, 0)


@pytest.mark.parametrize("text", [*BAD, "2026-02-30T00:00:00Z"])
def test_a_date_that_came_past_the_api_server_refuses_the_job_and_no_more(text: str) -> None:
    """The job is decoded, and its status says what is wrong."""
    builder = spot_job(deadline=text, work=WORK)
    try:
        found = deadline_of(builder.build().spec.spot, None)
    except DateError:
        assert reason(builder).startswith("SpotInvalid: spec.spot.deadline is no date")
        with market(builder, spot=4) as world:
            assert (world.status.state, world.status.reason, world.pods()) == ("Failed", "SpotInvalid", {})
    else:
        assert found is not None
        assert found.year in range(2000, 2100)


def test_a_date_that_is_spoiled_later_stops_nothing() -> None:
    with market(spot_job(deadline="2027-01-01T00:00:00Z", work=WORK), spot=4) as world:
        world.pass_time(120)
        world.edit(deadline="9999-12-31T23:59:59-14:00")
        world.pass_time(60)
        assert (world.status.state, len(world.running())) == ("Running", 4)


def test_seconds_count_from_the_first_start() -> None:
    spot = spot_job(deadlineSeconds=90, work=WORK).build().spec.spot
    assert deadline_of(spot, None) is None
    assert deadline_of(spot, NOW) == after(90)
    far = spot_job(deadlineSeconds=2**31 - 1, work=WORK).build().spec.spot
    assert deadline_of(far, datetime(9999, 1, 1, tzinfo=UTC)) == datetime.max.replace(tzinfo=UTC)


def test_times_that_no_calendar_reaches_are_none() -> None:
    assert moment_of(int(NOW.timestamp())) == NOW
    assert [moment_of(seconds) for seconds in (None, -1, 2**37, 10**30)] == [None] * 4


def test_the_schema_says_so() -> None:
    """Text of a bounded length, with a rule: nothing that passes it fails to be decoded."""
    schema = deadline_schema()
    assert (schema["type"], schema["maxLength"]) == ("string", 40)
    assert any(f"self.deadline.matches(r'{DATE}')" in rule.expression for rule in spot_rules())
    assert all(len(text) <= 40 for text in GOOD)
