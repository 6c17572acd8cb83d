"""Jobs whose replicas all restart to get another size: after a checkpoint, as no failure, all with the new size."""

import asyncio
from typing import Any

import pytest

from kubedl.training.elastic import leaving, resizing
from kubedl.training.kinds.jax import JAX
from kubedl.training.kinds.pytorch import PyTorch
from kubedl.training.plan import Plan
from kubedl.training.planner import plan
from tests.training_builders import JobBuilder, PodBuilder, decide, observed, pod, torch_job
from tests.unit.training.elastic import reclaim_builders
from tests.unit.training.elastic.reclaim_builders import SPOT, counts, made, phases, pods, removed, written
from tests.unit.training.elastic.test_resizing_simulation import RESTARTING, RUNNING
from tests.unit.training.simulation import Simulation

UNASKED = {"minReplicas": 1, "maxReplicas": 4, "resize": "Restart"}
ASKED = {**UNASKED, "checkpoint": {"timeoutSeconds": 90}}


def elastic(workers: int, *, size: int, **status: Any) -> JobBuilder:  # noqa: ANN401 - those of the status
    """A running job that asks for a checkpoint before it restarts."""
    return reclaim_builders.elastic(workers, size=size, **status).with_spec(elastic=ASKED)


def held(job: JobBuilder, *there: PodBuilder, confirmed: str = "") -> Plan:
    """The plan as the controller asks for it."""
    seen = observed(job, *there, confirmed=confirmed)
    resizing.hold_size(seen.kind, seen.job, seen.pods)
    leaving.hold_until_saved(seen.kind, seen.job, seen.pods)
    return plan(seen)


@pytest.mark.parametrize(("size", "reason", "verb"), [(1, "ReplicasAdded", "added"), (3, "ReplicasRemoved", "removed")])
def test_without_a_checkpoint_all_restart_at_once(size: int, reason: str, verb: str) -> None:
    """No retry is counted, and no pod of the new attempt is made before the last old one is gone."""
    job = reclaim_builders.elastic(2, size=size).with_spec(elastic=UNASKED)
    decided = decide(job, *pods(job, number=size))
    assert removed(decided) == [f"bert-worker-{index}" for index in range(size)]
    assert (decided.status.attempt, decided.status.retries, made(decided)) == (1, 0, [])
    message = (
        f"Worker is resized from {size} to 2: 1 pod is {verb}, and all replicas are restarted (not counted as a retry)"
    )
    assert [(one.type, one.reason, one.message) for one in decided.events] == [("Normal", reason, message)]
    assert decided.status.elastic is not None
    assert (decided.status.elastic.size, decided.status.elastic.changes) == (2, 1)
    after = written(job, decided)
    assert made(decide(after)) == [(0, 1), (1, 1)]
    assert decide(after, *pods(job, number=size)).events == ()


@pytest.mark.parametrize("size", [1, 3])
def test_a_job_keeps_its_size_until_its_program_has_saved(size: int) -> None:
    """Whether it grows or shrinks: everybody leaves."""
    job = elastic(2, size=size, members="0")
    asked = held(job, *pods(job, number=size))
    assert (removed(asked), made(asked), phases(asked)) == ([], [], ["Requested"])
    assert [one.message for one in asked.events] == ["a checkpoint is asked for before all replicas restart"]
    waiting = written(job, asked)
    again = held(waiting, *pods(job, number=size))
    assert again.ask is not None
    saved = held(waiting, *pods(job, number=size), confirmed=again.ask.id)
    assert (removed(saved), phases(saved)) == ([], ["Confirmed"])
    restarted = held(written(job, saved), *pods(job, number=size), confirmed=again.ask.id)
    assert len(removed(restarted)) == size
    assert (phases(restarted), restarted.status.attempt, restarted.status.retries) == (["Left"], 1, 0)
    after = held(written(job, restarted))
    assert (phases(after), made(after)) == (["Settled"], [(0, 1), (1, 1)])
    assert (counts(after).noticed, counts(after).confirmed, counts(after).unsaved) == (1, 1, 0)


def test_who_changes_their_mind_meanwhile_restarts_nobody() -> None:
    job = elastic(2, size=3, members="0-2")
    waiting = written(job, held(job, *pods(job)))
    decided = held(waiting.workers(3), *pods(job))
    assert (removed(decided), phases(decided), decided.status.attempt) == ([], ["Cancelled"], 0)


def test_a_job_whose_first_replica_does_not_run_restarts_without_a_checkpoint() -> None:
    """There is nobody to ask, and nothing is said of a checkpoint."""
    job = elastic(2, size=3)
    decided = held(job, pod(job, "Worker", 0), *pods(job)[1:])
    assert (len(removed(decided)), phases(decided), decided.status.attempt) == (3, [], 1)


@pytest.mark.parametrize("workers", [2, 4])
def test_once_a_replica_has_succeeded_the_size_stays(workers: int) -> None:
    """The job ends: to start again would repeat its work."""
    job = elastic(workers, size=3)
    decided = held(job, pod(job, "Worker", 0).succeeded(), *pods(job)[1:])
    assert (removed(decided), made(decided), phases(decided), decided.status.attempt) == ([], [], [], 0)


def test_a_node_that_is_taken_restarts_all() -> None:
    """The others cannot go on without those that leave it."""
    job = elastic(3, size=3, members="0-2")
    there = pods(job, 2)
    asked = decide(job, *there, notices=SPOT)
    assert "all replicas restart, since replicas 2 of Worker leave it" in asked.events[0].message
    again = decide(written(job, asked), *there, notices=SPOT)
    assert again.ask is not None
    saved = decide(written(job, asked), *there, notices=SPOT, confirmed=again.ask.id)
    left = decide(written(job, saved), *there, notices=SPOT, confirmed=again.ask.id)
    assert (len(removed(left)), left.status.attempt, left.status.retries) == (3, 1, 0)
    assert [one.reason for one in left.events] == ["NodeReclaimed"]


def test_an_eviction_restarts_all_and_says_so() -> None:
    """Although the first replica stays where it is."""
    job = elastic(3, size=3, members="0-2")
    stay, evicted = pods(job, number=2), pod(job, "Worker", 2).on("spot").running().disrupted()
    asked = decide(job, *stay, evicted)
    first, then = "replicas 2 of Worker are to be evicted from node spot", "then all replicas restart"
    assert [one.message for one in asked.events] == [f"{first}: a checkpoint is asked for first, {then}"]
    gone = decide(job, *stay, evicted.going(30))
    assert gone.events[0].message == "replicas 2 of Worker are evicted from node spot: all replicas restart"
    assert (removed(gone), gone.status.attempt) == (["bert-worker-0", "bert-worker-1"], 1)


def test_leaving_a_node_and_another_size_are_one_restart() -> None:
    job = elastic(2, size=3, members="0-2")
    there = pods(job, 2)
    asked = decide(job.workers(3), *there, notices=SPOT)
    saved = decide(written(job, asked), *there, notices=SPOT, confirmed="uid-bert-1")
    decided = decide(written(job, saved), *there, notices=SPOT, confirmed="uid-bert-1")
    assert decided.status.attempt == 1


def test_the_environment_is_that_of_a_job_of_fixed_size() -> None:
    """RANK and WORLD_SIZE are given; torchrun needs no rendezvous of its own."""
    builder = torch_job("bert").workers(2).with_spec(elastic=UNASKED)
    job = PyTorch().job(builder.build())
    told = PyTorch().environment(job, next(job.replicas()))
    assert (told["WORLD_SIZE"], told["PET_NNODES"]) == ("2", "2")


def test_kinds_say_how_they_are_resized() -> None:
    """A JAXJob can only restart; a PyTorchJob does so if it is told to."""
    fixed, bounds = torch_job().workers(2), {"minReplicas": 1, "maxReplicas": 3}
    in_place = PyTorch().job(fixed.with_spec(elastic=bounds).build())
    restarting = PyTorch().job(fixed.with_spec(elastic=UNASKED).build())
    assert [PyTorch().restarts_to_resize(job) for job in (in_place, restarting)] == [False, True]
    assert JAX().restarts_to_resize(in_place)


def test_each_size_is_an_attempt_of_its_own() -> None:
    """From 2 to 3 to 1: whoever runs knows the size of its attempt, and nothing counts as a retry."""
    with asyncio.Runner() as runner:
        simulation = Simulation(RESTARTING.kind, RESTARTING.workers(2).build(), runner)
        sizes = []
        for size in (2, 3, 1):
            for step in (("resize", 0, size), ("work", 7, 0), RUNNING):
                simulation.step(step)
            sizes.append(len(simulation.world.running()))
    job = simulation.world.job
    assert sizes == [2, 3, 1]
    assert job is not None
    assert (job.status.attempt, job.status.retries) == (2, 0)
