"""Restarts of a job on spot nodes: who keeps its pool, who is replaced alone, and how long the pause is."""

from dataclasses import replace
from typing import Any

from kubedl.api.elastic import ElasticStatus
from kubedl.api.spot import SpotProgress, SpotStatus
from kubedl.training.replica_status import observe_replicas
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
    names = [str(pod.metadata.name) for pod in world.world.pods()]
    world.world.delete_pod(names.index(f"bert-{name}"), force=True)
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
