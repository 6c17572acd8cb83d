"""How long a job may wait for nodes: what counts, what happens then, and what resumes a job that was suspended."""

from typing import Any

import msgspec
import pytest

from kubedl.api.spot import SpotStatus
from kubedl.schema.structural import MAX_INT32
from kubedl.training.spot.waiting_time import counted, end_of, is_too_long, waited
from tests.training_builders import after
from tests.unit.training.spot.market import Market, market, settings, spot_job
from tests.unit.training.spot.played_pools import POOLS

DEADLINE = {"deadline": "2026-06-01T00:00:00Z", "work": {"seconds": 3600}}


def test_only_waiting_counts_and_only_training_begins_it_anew() -> None:
    waits = counted(SpotStatus(), after(0), trains=False, waits=True)
    assert (waits.waiting_since, end_of(waits, 100)) == (after(0), after(100))
    pulls = counted(waits, after(40), trains=False, waits=False)
    assert (pulls.waiting_since, pulls.waited_seconds, is_too_long(pulls, 10, after(400))) == (None, 40, False)
    again = counted(pulls, after(500), trains=False, waits=True)
    assert (waited(again, after(530)), end_of(again, 100)) == (70, after(560))
    assert is_too_long(again, 100, after(560))
    assert counted(again, after(570), trains=True, waits=False) == SpotStatus()


@pytest.mark.parametrize("seconds", [10**18, -(10**18)])
def test_a_wait_that_somebody_has_edited_is_none_that_cannot_be_told(seconds: int) -> None:
    edited = SpotStatus(waiting_since=after(0), waited_seconds=seconds)
    most = MAX_INT32 if seconds > 0 else 60
    assert waited(edited, after(60)) == most
    end = end_of(edited, 100)
    assert end is not None
    assert end <= after(100)
    written = counted(edited, after(60), trains=False, waits=True).waited_seconds
    assert written in (0, MAX_INT32)


def suspended(**spot: Any) -> Any:  # noqa: ANN401 - a context
    return market(spot_job(2, checkpoint="deadline" in spot, maxWaitSeconds=300, onMaxWait="Suspend", **spot), spot=0)


def test_on_demand_helps_after_the_wait() -> None:
    with market(spot_job(2, checkpoint=False, maxWaitSeconds=300), on_demand=2) as world:
        world.pass_time(285)
        assert set(world.pods().values()) == {"spot?"}
        world.pass_time(120)
        assert set(world.pods().values()) == {"on-demand"}
        assert world.condition("OnDemandFallback") == "WaitedTooLong"
        world.room["spot"] = 2
        world.pass_time(7200, 60)
        assert set(world.pods().values()) == {"on-demand"}


def test_the_preferred_on_demand_pool_is_tried_first_however_long_the_job_has_waited() -> None:
    other = msgspec.structs.replace(POOLS[2], name="dear")
    job = spot_job(2, pools=["spot", "on-demand", "dear"], checkpoint=False, maxWaitSeconds=900)
    with market(job, given=settings(pools=(*POOLS, other)), on_demand=2, dear=2) as world:
        world.pass_time(1020)
        assert set(world.pods().values()) == {"on-demand"}


def test_it_fails_after_the_wait() -> None:
    with market(spot_job(2, checkpoint=False, maxWaitSeconds=300, onMaxWait="Fail"), spot=0) as world:
        world.pass_time(330)
        assert (world.status.state, world.status.reason, world.pods()) == ("Failed", "MaxWaitExceeded", {})


def test_images_that_are_pulled_do_not_count() -> None:
    with market(spot_job(2, checkpoint=False, maxWaitSeconds=300, onMaxWait="Fail"), spot=2) as world:
        world.pulls_forever = True
        world.pass_time(1200)
        assert (world.status.state, world.spot.waited_seconds) == ("Created", 0)


def test_a_job_that_its_user_suspends_does_not_wait() -> None:
    with market(spot_job(2, checkpoint=False, maxWaitSeconds=300, onMaxWait="Fail"), spot=0) as world:
        world.pass_time(200)
        world.edit_spec(suspend=True)
        world.pass_time(1200)
        world.edit_spec(suspend=False)
        world.pass_time(200)
        assert world.state == "Created"
        world.pass_time(150)
        assert world.state == "Failed"


def test_a_pool_that_the_operator_forgets_is_said_and_does_not_count() -> None:
    with market(spot_job(2, checkpoint=False, maxWaitSeconds=300, onMaxWait="Fail"), spot=0) as world:
        world.pass_time(60)
        while world.pods():
            world.world.delete_pod(0, force=True)
        world.settings = settings(pools=POOLS[1:])
        world.restart()
        world.pass_time(1200)
        assert (world.status.state != "Failed", world.pods(), world.spot.waiting_since) == (True, {}, None)
        assert "names pool spot" in world.status.message
        world.settings = settings()
        world.restart()
        world.room["spot"] = 2
        world.pass_time(400)
        assert world.status.state == "Running"


def paused(world: Market) -> bool:
    return (world.status.state, world.status.reason, world.pods()) == ("Suspended", "WaitedTooLong", {})


def test_it_is_suspended_after_the_wait_and_stays_so() -> None:
    with suspended() as world:
        world.pass_time(330)
        assert paused(world)
        assert "maxWaitSeconds (300)" in world.status.message
        world.room["spot"] = 2
        world.restart()
        world.pass_time(3600, 60)
        assert paused(world)


def test_other_edits_do_not_end_the_suspension() -> None:
    with suspended(**DEADLINE) as world:
        world.pass_time(330)
        world.room["spot"] = 2
        for edit in ({"backoff_limit": 3}, {"ttl_seconds_after_finished": 60}, {"clean_pod_policy": "All"}):
            world.edit_spec(**edit)
            world.pass_time(60)
            assert paused(world)
        world.edit(maxWaitSeconds=200)
        world.pass_time(60)
        assert paused(world)
        world.edit(deadline="2026-05-01T00:00:00Z")
        world.pass_time(60)
        assert paused(world)


@pytest.mark.parametrize(
    "edit", [{"maxWaitSeconds": 301}, {"onMaxWait": "Fail"}, {"deadline": "2026-06-01T00:00:01Z"}], ids=str
)
def test_more_patience_or_a_later_deadline_resumes_it(edit: dict[str, Any]) -> None:
    with suspended(**DEADLINE) as world:
        world.pass_time(330)
        world.room["spot"] = 2
        world.edit(**edit)
        world.pass_time(120)
        assert (world.status.state, world.spot.suspended) == ("Running", None)


def test_resuming_it_by_hand_begins_the_wait_anew() -> None:
    with suspended() as world:
        world.pass_time(330)
        world.edit_spec(suspend=True)
        world.pass_time(60)
        world.edit_spec(suspend=False)
        world.pass_time(240)
        assert world.status.state == "Created"
        world.pass_time(120)
        assert paused(world)
