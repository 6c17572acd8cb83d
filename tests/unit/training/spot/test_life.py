"""Jobs on a market, from start to end: they train with what there is, and the operator may die at any time."""

from typing import Any

import pytest

from tests import sampling
from tests.unit.training.simulation import HARMS
from tests.unit.training.spot.market import Market, market, settings, spot_job

HOUR = 3600
DEADLINE: dict[str, Any] = {"deadlineSeconds": 10 * HOUR, "work": {"seconds": 5 * HOUR}}
WAITS = ("WaitingForSpot", "Shrunk", "OnDemandFallback", "DeadlineAtRisk", "ProgressUnknown")


def test_a_job_that_trains_with_some_of_its_replicas_runs() -> None:
    with market(spot_job(4, least=2, checkpoint=False), spot=2) as world:
        world.pass_time(120)
        assert world.pods() == {"worker-0": "spot", "worker-1": "spot", "worker-2": "spot?", "worker-3": "spot?"}
        assert (world.status.state, world.condition("Running"), world.condition("Shrunk")) == (
            "Running",
            "JobRunning",
            "NoNodes",
        )
        assert world.condition("WaitingForSpot") == ""
        world.room["spot"] = 4
        world.pass_time(120)
        assert (len(world.running()), world.condition("Shrunk")) == (4, "")


def test_below_the_smallest_size_it_does_not_run() -> None:
    with market(spot_job(4, least=3, checkpoint=False), spot=2) as world:
        world.pass_time(120)
        assert (world.status.state, world.condition("WaitingForSpot")) == ("Created", "NoNodes")


def test_a_job_that_falls_below_the_smallest_size_runs_no_more() -> None:
    with market(spot_job(3, least=2), spot=3) as world:
        world.pass_time(120)
        assert world.status.state == "Running"
        world.notice("worker-1", "worker-2")
        world.pass_time(120)
        assert (world.status.state, world.condition("Running")) == ("Created", "")
        assert world.condition("WaitingForSpot") == "NoNodes"
        world.room["spot"] = 3
        world.pass_time(120)
        assert (world.status.state, world.condition("Running")) == ("Running", "JobRunning")


def test_a_job_whose_training_is_done_succeeds_without_those_that_have_no_node() -> None:
    """And their pods go: a node for one of them would be paid for nothing."""
    with market(spot_job(3, checkpoint=False), spot=2) as world:
        world.pass_time(120)
        world.finish("worker-0", "worker-1")
        world.pass_time(30)
        assert (world.status.state, world.spot.excused) == ("Succeeded", "2")
        assert world.status.replica_statuses["Worker"].succeeded_indexes == "0-1"
        assert sorted(world.pods()) == ["worker-0", "worker-1"]
        world.room["spot"] = 9
        world.pass_time(120)
        assert sorted(world.pods()) == ["worker-0", "worker-1"]


def test_a_worker_that_never_ran_is_not_the_one_that_succeeds() -> None:
    job = spot_job(2, checkpoint=False).master().with_spec(successPolicy="AnyWorker")
    with market(job, spot=2) as world:
        world.pass_time(120)
        assert world.pods() == {"master-0": "spot", "worker-0": "spot", "worker-1": "spot?"}
        world.finish("master-0")
        world.pass_time(60)
        assert (world.state != "Succeeded", world.spot.excused) == (True, "")
        world.finish("worker-0")
        world.pass_time(60)
        assert (world.state, sorted(world.pods())) == ("Succeeded", ["master-0", "worker-0"])


def test_one_that_still_runs_is_waited_for() -> None:
    with market(spot_job(3, checkpoint=False), spot=2) as world:
        world.pass_time(120)
        world.finish("worker-0")
        world.pass_time(30)
        assert world.state != "Succeeded"
        world.finish("worker-1")
        world.pass_time(30)
        assert world.state == "Succeeded"


def test_if_only_the_first_replica_has_no_node_that_is_said() -> None:
    with market(spot_job(3, checkpoint=False, minOnDemand=1), spot=2, on_demand=0) as world:
        world.pass_time(120)
        assert world.pods() == {"worker-0": "on-demand?", "worker-1": "spot", "worker-2": "spot"}
        assert world.condition("WaitingForSpot") == "LeaderWithoutNode"
        assert "bert-worker-0 has no node" in world.all_events("WaitingForSpot")[0]
        world.room["on-demand"] = 1
        world.pass_time(120)
        assert (world.condition("WaitingForSpot"), world.status.state) == ("", "Running")


def test_at_the_line_nobody_goes_back_and_forth() -> None:
    """Behind the line on-demand helps; ahead of it by little it stays, however often the operator looks."""
    with market(spot_job(4, **DEADLINE), on_demand=9) as world:
        world.pass_time(5 * HOUR, 60)
        assert (world.spot.mode, len(world.running())) == ("OnDemand", 4)
        since, uids = world.spot.since, world.uids()
        world.pass_time(HOUR)
        assert (world.spot.since, world.uids()) == (since, uids)
        assert len(world.all_events("OnDemandFallback")) == 1


def test_conditions_do_not_flap() -> None:
    """Whatever holds at the line: an undisturbed job is written to for its progress, and for nothing else."""
    with market(spot_job(4, **DEADLINE), on_demand=9) as world:
        world.pass_time(5 * HOUR, 60)
        before = [one for one in world.status.conditions if one.type in WAITS]
        writes = world.writes
        world.pass_time(HOUR)
        assert [one for one in world.status.conditions if one.type in WAITS] == before
        assert world.writes - writes <= 22  # one for each percent


def test_ahead_by_far_it_goes_back_to_spot_and_saves_first() -> None:
    """One after the other, each after a checkpoint; nothing that was done is lost."""
    with market(spot_job(4, deadlineSeconds=20 * HOUR, work={"seconds": 10 * HOUR}), on_demand=9) as world:
        world.saves_every = 600
        world.pass_time(9 * HOUR, 60)
        assert set(world.pods().values()) == {"on-demand"}
        world.room["spot"] = 4
        done = 0.0
        for _ in range(40):
            world.pass_time(900)
            assert world.program.done >= done - 60  # what is done between a checkpoint and the end of its pods
            done = world.program.done
        assert world.spot.mode == "Spot"
        assert set(world.pods().values()) == {"spot"}
        assert world.program.saved >= 3


def test_who_does_not_save_stays_where_it_is() -> None:
    with market(spot_job(4, deadlineSeconds=20 * HOUR, work={"seconds": 10 * HOUR}), on_demand=9, spot=0) as world:
        world.saves_every = 600
        world.pass_time(9 * HOUR, 60)
        world.program.deaf = True
        world.room["spot"] = 4
        uids = world.uids()
        world.pass_time(8 * HOUR, 60)
        assert world.uids() == uids
        assert set(world.pods().values()) == {"on-demand"}
        assert world.status.elastic is not None
        assert world.status.elastic.reclaim_counts.unsaved == 0


def test_the_deadline_is_kept_without_any_spot_node() -> None:
    with market(spot_job(4, **DEADLINE), on_demand=9) as world:
        until_done(world, 10 * HOUR)
        assert world.condition("DeadlineAtRisk") == ""


def test_the_deadline_is_kept_if_spot_goes_away_late() -> None:
    with market(spot_job(4, **DEADLINE), spot=4, on_demand=9) as world:
        world.saves_every = 600
        world.pass_time(4 * HOUR, 60)
        world.notice("worker-0", "worker-1", "worker-2", "worker-3")
        until_done(world, 6 * HOUR)


def until_done(world: Market, most: int) -> None:
    for _ in range(0, most, 60):
        world.pass_time(60, 30)
        if world.program.done >= world.program.work:
            return
    raise AssertionError(f"late: {world.program.done} of {world.program.work}, {world.spot}")


def test_a_restart_of_the_operator_moves_nobody_and_forgets_nothing() -> None:
    """Everything is in the status and in pods: also while nobody has answered the new one yet."""
    with market(spot_job(4, **DEADLINE), spot=1, on_demand=9) as world:
        world.saves_every = 600
        world.pass_time(7 * HOUR, 60)
        assert (world.spot.mode, len(set(world.pods().values()))) == ("OnDemand", 2)
        before, uids, writes = world.status, world.uids(), world.writes
        world.program.silent = True
        for _ in range(3):
            world.restart()
            world.rest()
        assert (world.status, world.uids(), world.writes) == (before, uids, writes)
        assert world.spot.progress.seconds > HOUR
        world.pass_time(60)
        assert (world.uids(), world.spot.pools, world.spot.mode) == (uids, before.spot.pools, before.spot.mode)  # type: ignore[union-attr]


def test_after_an_unsaved_reclaim_only_what_is_saved_counts() -> None:
    """Until the next checkpoint, whatever the program reports meanwhile."""
    with market(spot_job(4, **DEADLINE), spot=4, on_demand=0) as world:
        world.saves_every = 1800
        world.pass_time(2 * HOUR + 600, 60)
        saved = world.spot.progress.durable_seconds
        assert (saved > 0, world.spot.progress.seconds > saved) == (True, True)
        world.program.deaf, world.saves_every = True, None
        world.notice("worker-3")
        world.pass_time(300)
        assert world.all_events("ReclaimUnsaved")
        assert world.spot.progress.untrusted_since is not None
        world.pass_time(900)
        assert world.program.done > saved + 600
        assert (world.spot.progress.seconds, world.spot.progress.durable_seconds) == (saved, saved)
        world.program.durable = world.program.done
        world.pass_time(60)
        assert world.spot.progress.untrusted_since is None
        assert world.spot.progress.seconds > saved


def test_a_silent_program_is_told_of_and_nothing_is_assumed() -> None:
    with market(spot_job(4, **DEADLINE), spot=4) as world:
        world.program.silent = True
        world.pass_time(300)
        assert world.condition("ProgressUnknown") == "NoReport"
        assert world.spot.progress.seconds == 0
        world.program.silent = False
        world.pass_time(60)
        assert (world.condition("ProgressUnknown"), world.spot.progress.seconds > 0) == ("", True)


def test_without_spec_spot_nothing_changes() -> None:
    """Pods, status and writes are the same with pools and without."""
    builder = spot_job(3, checkpoint=False)
    plain = builder.with_spec(spot=None)
    plain = type(builder)(plain.kind, plain.name, plain.roles, {k: v for k, v in plain.spec.items() if k != "spot"})
    seen = []
    for given in (settings(), settings(pools=())):
        with market(plain, given=given) as world:
            world.room[""] = 3
            world.pass_time(3 * HOUR, 60)
            bodies = [world.api.bodies[uid] for uid in world.uids().values()]
            seen.append((world.status, world.writes, bodies))
    assert seen[0] == seen[1]
    assert seen[0][0].spot is None
    assert [body["spec"].get("nodeSelector") for body in seen[0][2]] == [None] * 3


LIVES = ("spot comes late", "a node is taken", "behind the line")


@pytest.mark.parametrize("name", LIVES)
def test_killed_at_any_write_it_ends_the_same(name: str) -> None:
    """An operator that dies at a write, or whose write is lost, leaves nothing that the next one cannot go on with."""
    undisturbed, writes = lived(name, None)
    assert writes > 6
    for number in range(writes):
        for harm in sampling.one_of(HARMS[1:], f"{name} {number}"):
            assert lived(name, (number, harm))[0] == undisturbed, f"{harm} at write {number}"


def lived(name: str, fate: object) -> tuple[object, int]:
    room = {"spot": 0 if name == "behind the line" else 3, "on_demand": 9}
    with market(spot_job(3, deadlineSeconds=2 * HOUR, work={"seconds": 5000}), given=settings()) as world:
        world.fate = fate  # type: ignore[assignment]
        world.room.update({key.replace("_", "-"): value for key, value in room.items()})
        if name == "spot comes late":
            world.room["spot"] = 1
            world.pass_time(300)
            world.room["spot"] = 3
        world.pass_time(600)
        if name == "a node is taken":
            world.notice("worker-2")
            world.pass_time(300)
            world.room["spot"] = 3
        if name == "behind the line":
            world.pass_time(2400, 60)
        world.pass_time(600)
        known = world.status
        assert known.elastic is not None
        outcome = (world.pods(), known.state, known.retries, known.attempt, world.spot.mode, world.spot.pools)
        return outcome, world.writes
