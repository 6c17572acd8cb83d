"""Restarts of a job on spot nodes: who keeps its pool, who is replaced alone, and how long the pause is."""

from dataclasses import replace
from typing import Any

import pytest

from kubedl.api.elastic import ElasticStatus, Reclaim
from kubedl.api.spot import SpotProgress, SpotStatus
from kubedl.kube.types.core import PODS
from kubedl.training.planner import plan
from kubedl.training.policies.failure_policy import DISRUPTED
from kubedl.training.replica_status import observe_replicas
from kubedl.training.spot.moving import POOL
from kubedl.training.spot.observing import Memory, scene, situation
from kubedl.training.spot.pools import Pools
from kubedl.training.spot.terms import terms_of
from tests.training_builders import NOW, observed, pod
from tests.unit.training.spot.market import Market, market, settings, spot_job
from tests.unit.training.spot.played_pools import POOLS

HOUR = 3600
DEADLINE: dict[str, Any] = {"deadlineSeconds": 20 * HOUR, "work": {"seconds": 5 * HOUR}}


def lose(world: Market, name: str) -> None:
    """Somebody deletes a pod."""
    (found,) = (pod for pod in world.world.pods() if pod.metadata.name == f"bert-{name}")
    world.api.drop(PODS, found.metadata.key)
    world.rest()


def test_a_restart_of_all_keeps_the_pools_of_those_that_the_scheduler_has_not_looked_at() -> None:
    """Also if on-demand nodes are to help: those that trained on spot nodes get these again."""
    job = spot_job(4, **DEADLINE)
    with market(job, spot=2, on_demand=9) as world:
        world.saves_every = 30
        world.pass_time(300)
        world.edit(deadlineSeconds=5 * HOUR + 1200)
        world.pass_time(120)
        pools = world.pods()
        assert (world.spot.mode, sorted(pools.values())) == ("OnDemand", ["on-demand"] * 2 + ["spot"] * 2)
        attempt = world.status.attempt
        lose(world, "worker-0")
        world.pass_time(300)
        assert world.status.attempt > attempt
        assert world.pods() == pools


def test_one_that_leaves_spot_in_the_end_counts_as_on_spot_until_it_has_left() -> None:
    """Otherwise all progress seems safe at once, and the last mode ends as soon as it has begun."""
    job = spot_job(2, **DEADLINE).with_status(spot=SpotStatus(pools={"on-demand": "0-1"}))
    seen = [pod(job, "Worker", index).on(f"node-{index}").running() for index in range(2)]
    labelled = tuple(one.labelled(pool="spot") for one in seen)
    found = replace(observed(job, *labelled), settings=settings())
    pools = Pools(spot=POOLS[:1], on_demand=POOLS[2:])
    there = scene(found, observe_replicas(found), pools, ("on-demand", "on-demand"))
    memory = Memory(SpotProgress(), is_known=True, elastic=ElasticStatus(), waited=None)
    terms = terms_of(found.job, "Worker", pools, NOW)
    now = situation(terms, there, ("on-demand", "on-demand"), pools, memory, NOW)
    assert (now.spot_members, now.on_demand_members, now.on_demand_starting) == (2, 0, 0)


@pytest.mark.parametrize("room", [2, 3], ids=["without a node", "on its node"])
def test_a_replica_that_never_ran_is_replaced_alone(room: int) -> None:
    with market(spot_job(3, checkpoint=False), spot=2) as world:
        world.pass_time(120)
        world.room["spot"] = room
        world.pass_time(15)
        before, attempt = world.uids(), world.status.attempt
        lose(world, "worker-2")
        world.pass_time(60)
        after_it = world.uids()
        assert (world.status.attempt, world.condition("Restarting")) == (attempt, "")
        assert after_it.pop("bert-worker-2") != before.pop("bert-worker-2")
        assert after_it == before
        assert len(world.all_events("ReplicaReplaced")) == 1


def test_one_whose_pod_is_deleted_again_and_again_has_a_pause() -> None:
    with market(spot_job(3, checkpoint=False), spot=2) as world:
        world.pass_time(120)
        for _ in range(10):
            if "worker-2" in world.pods():
                lose(world, "worker-2")
        assert (world.status.attempt, "worker-2" in world.pods()) == (0, False)
        world.pass_time(60)
        assert (world.status.attempt, "worker-2" in world.pods()) == (0, True)


def test_one_that_trained_restarts_all_as_ever() -> None:
    with market(spot_job(3, checkpoint=False), spot=3) as world:
        world.pass_time(120)
        lose(world, "worker-2")
        world.pass_time(60)
        assert world.status.attempt == 1


def test_changes_of_pools_make_the_pause_before_a_restart_no_longer() -> None:
    job = spot_job(1).with_status(attempt=20, spot=SpotStatus(pools={"spot": "0"}, since=NOW), start_time=NOW)
    lost = pod(job, "Worker", 0).attempt(20).on("node").running()
    assert plan(replace(observed(job, deleted=(lost,)), settings=settings())).status.attempt == 21
    often = job.counted("Worker", evicted=20)
    assert plan(replace(observed(often, deleted=(lost,)), settings=settings())).status.attempt == 20


@pytest.mark.parametrize(("evictions", "alone"), [(0, True), (3, True), (4, False)])
def test_one_that_has_changed_pools_often_is_not_taken_for_one_that_is_evicted_again_and_again(
    evictions: int, alone: bool
) -> None:
    """A pod that is evicted soon after it was made leaves alone, unless evictions, and not moves, made its attempts."""
    before = tuple(
        Reclaim(source=source, phase="Settled", seen_at=NOW, left_at=NOW, node=node, ended_at=NOW)
        for source, node in [(POOL, "")] * 9 + [(DISRUPTED, f"node-{number}") for number in range(evictions)]
    )
    job = spot_job(3).with_status(
        elastic=ElasticStatus(size=3, members="0-2", reclaims=before),
        spot=SpotStatus(pools={"spot": "0-2"}, since=NOW),
        start_time=NOW,
    )
    job = job.counted("Worker", active=3, attempts={"2": 20})
    others = [pod(job, "Worker", index).on("node").labelled(pool="spot").running() for index in range(2)]
    evicted = pod(job, "Worker", 2).attempt(20).on("other").labelled(pool="spot").running().disrupted().going(30)
    decided = plan(replace(observed(job, *others, evicted, now=4), settings=settings()))
    assert decided.status.elastic is not None
    assert (decided.status.elastic.reclaims[-1].phase == "Left") is alone
    assert (decided.status.attempt > 0) is not alone


def test_the_pace_is_measured_although_replicas_come_and_go_often() -> None:
    """Those who took part gained something, also if that was too little to be written while they did."""
    with market(spot_job(4, deadlineSeconds=400 * HOUR, work={"seconds": 100 * HOUR}), spot=4) as world:
        world.program.speed = 0.5
        world.pass_time(690)
        assert world.spot.progress.trained == 0
        world.notice("worker-3")
        world.pass_time(60)
        known = world.spot.progress
        assert (known.trained >= 540, 0.4 * known.trained < known.gained < 0.6 * known.trained) == (True, True)
