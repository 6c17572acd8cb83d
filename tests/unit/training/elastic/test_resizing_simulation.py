"""Whatever happens while a job is resized: the rules of `invariants` hold, it ends well, and the others go on."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.hypothesis_settings import tried
from tests.training_builders import JobBuilder, torch_job
from tests.unit.training.simulation import DEEDS, MOVES, Simulation, Step, fates, run

BOUNDS = {"minReplicas": 1, "maxReplicas": 3}
ELASTIC = torch_job().with_spec(elastic=BOUNDS)
RESTARTING = torch_job().with_spec(elastic={**BOUNDS, "resize": "Restart"})
OFTEN = ("work", "work", "work", "look", "look and suffer", "deliver", "resize", "resize", "exit", "reap", "start")
RARE = tuple(sorted({*DEEDS, *MOVES} - {*OFTEN, "spoil", "work until running"}))
RUNNING: Step = ("work until running", 0, 0)
SMALL, LARGE = ("resize", 0, 1), ("resize", 0, 3)


@st.composite
def jobs(draw: st.DrawFn) -> JobBuilder:
    """With and without a Master, which is the first role by name; resized in place, or by a restart."""
    job = draw(st.sampled_from([ELASTIC, RESTARTING])).workers(draw(st.integers(1, 3)))
    limit = draw(st.sampled_from([None, 0, 2]))
    job = job.with_spec(backoffLimit=limit) if limit is not None else job
    return job.master() if draw(st.booleans()) else job


@given(
    job=jobs(),
    schedule=st.lists(
        st.tuples(st.sampled_from(OFTEN * 2 + RARE), st.integers(0, 7), st.integers(0, 7)), min_size=5, max_size=60
    ),
)
@tried(30)
def test_any_schedule_of_resizes_and_faults_keeps_the_rules(job: JobBuilder, schedule: list[Step]) -> None:
    """Crashes between any two writes, deaths, lost nodes, and sizes that change meanwhile."""
    run(job.kind, job.build(), schedule)


AT_ONCE = "shrinks and grows at once"
LIVES: dict[str, list[Step]] = {
    "grows": [RUNNING, LARGE, RUNNING],
    "shrinks": [RUNNING, LARGE, RUNNING, SMALL, RUNNING],
    AT_ONCE: [RUNNING, LARGE, RUNNING, SMALL, ("work", 0, 0), LARGE, RUNNING],
    "shrinks, and one that stays is killed": [RUNNING, LARGE, RUNNING, SMALL, RUNNING, ("exit", 0, 2), RUNNING],
}


@pytest.mark.parametrize("builder", [ELASTIC, RESTARTING], ids=["in place", "restart"])
@pytest.mark.parametrize("name", LIVES)
def test_killed_at_any_write_it_ends_the_same(name: str, builder: JobBuilder) -> None:
    """Writes of a resize, and ways in which it can go wrong."""
    job, schedule = builder.workers(2).build(), LIVES[name]
    undisturbed = run(ELASTIC.kind, job, schedule)
    for fate in fates(undisturbed, f"{name} {job.spec.elastic}"):
        disturbed = run(ELASTIC.kind, job, schedule, fate)
        assert outcome(disturbed) == outcome(undisturbed), fate
        # An operator that is late sees no shrinking at all if its user takes it back, so that nobody restarts for it.
        assert name == AT_ONCE or attempt(disturbed) == attempt(undisturbed), fate


def test_the_pods_that_stay_are_the_same_all_the_time() -> None:
    """From 2 to 3 to 1 to 3."""
    with asyncio.Runner() as runner:
        simulation = Simulation(ELASTIC.kind, ELASTIC.workers(2).build(), runner)
        seen: list[dict[str, str]] = []
        for step in (None, LARGE, SMALL, LARGE):
            for one in ([step] if step is not None else []) + [RUNNING, ("work", 1, 0)]:
                simulation.step(one)
            seen.append({pod.metadata.name[-1]: pod.metadata.uid for pod in simulation.world.running()})
    assert [sorted(pods) for pods in seen] == [["0", "1"], ["0", "1", "2"], ["0"], ["0", "1", "2"]]
    assert len({pods["0"] for pods in seen}) == 1
    assert seen[0]["1"] == seen[1]["1"] != seen[3]["1"]
    job = simulation.world.job
    assert job is not None
    assert job.status.elastic is not None
    assert (job.status.attempt, job.status.retries, job.status.elastic.changes) == (0, 0, 3)
    assert (job.status.elastic.members, job.status.elastic.leaving) == ("0-2", "")


def outcome(simulation: Simulation) -> object:
    """What a user sees in the end; a deed that is repeated may be told of again."""
    job = simulation.world.job
    assert job is not None
    assert job.status.elastic is not None
    return job.status.state, job.status.reason, job.status.retries, job.status.elastic.size


def attempt(simulation: Simulation) -> int:
    """How often all have started again."""
    assert simulation.world.job is not None
    return simulation.world.job.status.attempt
