"""Whatever happens while nodes are taken: the rules of `invariants` hold, the job ends well, and the others go on."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.api.elastic import ReclaimCounts
from tests.hypothesis_settings import tried
from tests.training_builders import JobBuilder, torch_job
from tests.unit.training.simulation import DEEDS, MOVES, Simulation, Step, fates, run

BOUNDS = {"minReplicas": 1, "maxReplicas": 3, "checkpoint": {"timeoutSeconds": 20}}
ELASTIC = torch_job().with_spec(elastic=BOUNDS)
RESTARTING = torch_job().with_spec(elastic={**BOUNDS, "resize": "Restart"})
OFTEN = ("work", "work", "work", "look", "look and suffer", "deliver", "notice", "notice", "withdraw", "pass time")
RARE = tuple(sorted({*DEEDS, *MOVES} - {*OFTEN, "spoil", "work until running"}))
RUNNING: Step = ("work until running", 0, 0)
FIRST, SECOND = ("notice", 1, 0), ("notice", 2, 0)  # worker 0 is on the second node, worker 1 on the third
TICK: list[Step] = [("pass time", 0, 0), ("deliver all", 0, 0), ("look", 0, 0)]


@st.composite
def jobs(draw: st.DrawFn) -> JobBuilder:
    """With and without a Master; in place, or by a restart."""
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
def test_any_schedule_of_notices_and_faults_keeps_the_rules(job: JobBuilder, schedule: list[Step]) -> None:
    """Crashes between any two writes, deaths, lost nodes, silence, and sizes that change meanwhile."""
    run(job.kind, job.build(), schedule)


LIVES: dict[str, list[Step]] = {
    "a worker leaves": [RUNNING, SECOND, *TICK * 6, RUNNING],
    "the first leaves": [RUNNING, FIRST, *TICK * 6, RUNNING],
    "both leave": [RUNNING, FIRST, SECOND, *TICK * 6, RUNNING],
    "nobody answers": [RUNNING, ("hush", 0, 0), SECOND, *TICK * 26, RUNNING],
    "it is taken back": [RUNNING, ("hush", 0, 0), SECOND, *TICK * 3, ("withdraw", 2, 0), *TICK * 3],
    "a user removes workers": [RUNNING, ("resize", 0, 1), *TICK * 6, RUNNING],
    "a user removes workers and adds them": [
        RUNNING,
        ("resize", 0, 1),
        *TICK * 6,
        RUNNING,
        ("resize", 0, 3),
        *TICK * 6,
    ],
}


@pytest.mark.parametrize("builder", [ELASTIC, RESTARTING], ids=["in place", "restart"])
@pytest.mark.parametrize("name", LIVES)
def test_killed_at_any_write_it_ends_the_same(name: str, builder: JobBuilder) -> None:
    """Writes of a reclaim, and ways in which it can go wrong."""
    job, schedule = builder.workers(3).build(), LIVES[name]
    undisturbed = run(ELASTIC.kind, job, schedule)
    assert undisturbed.writes > 4
    for fate in fates(undisturbed, f"{name} {job.spec.elastic}"):
        assert outcome(run(ELASTIC.kind, job, schedule, fate)) == outcome(undisturbed), fate


def test_a_reclaim_is_one_checkpoint_and_the_others_stay() -> None:
    """Four status writes, one deletion, one creation."""
    with asyncio.Runner() as runner:
        simulation = Simulation(ELASTIC.kind, ELASTIC.workers(3).build(), runner)
        simulation.step(RUNNING)
        before, writes = uids(simulation), simulation.writes
        for step in (SECOND, *TICK * 6, RUNNING, *TICK * 3):
            simulation.step(step)
    after, job = uids(simulation), simulation.world.job
    assert {name for name in before if before[name] == after[name]} == {"0", "2"}
    assert len(simulation.program.saved) == 1
    assert job is not None
    assert job.status.elastic is not None
    assert job.status.elastic.reclaim_counts == ReclaimCounts(noticed=1, confirmed=1)
    assert (job.status.retries, job.status.attempt, job.status.elastic.members) == (0, 0, "0-2")
    assert simulation.writes - writes <= 9  # of them four are the reclaim's: Requested, Confirmed, Left, Settled


def test_an_undisturbed_job_is_written_to_and_asked_nothing() -> None:
    with asyncio.Runner() as runner:
        simulation = Simulation(ELASTIC.kind, ELASTIC.workers(3).build(), runner)
        for step in (RUNNING, *TICK * 2):
            simulation.step(step)
        writes = simulation.writes
        for step in TICK * 20:
            simulation.step(step)
    assert (simulation.writes, simulation.program.saved, simulation.operator.due) == (writes, [], None)


def uids(simulation: Simulation) -> dict[str, str]:
    return {pod.metadata.name[-1]: pod.metadata.uid for pod in simulation.world.running()}


def outcome(simulation: Simulation) -> object:
    """What a user sees in the end; how often a checkpoint was asked for may differ."""
    job = simulation.world.job
    assert job is not None
    assert job.status.elastic is not None
    known = job.status.elastic
    phases = [(record.node, record.phase, record.replicas) for record in known.reclaims]
    return job.status.state, job.status.reason, job.status.retries, known.size, known.reclaim_counts, phases
