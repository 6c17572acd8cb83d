"""Whatever happens to a job, its pods, its nodes and its operator: the rules of `invariants` hold, and it ends well."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds
from tests.hypothesis_settings import tried
from tests.training_builders import JobBuilder, mpi_job, tf_job, torch_job
from tests.unit.training.simulation import DEEDS, MOVES, Simulation, Step, fates, run

OFTEN = ("work", "work", "work", "look", "look and suffer", "deliver", "exit", "exit", "exit", "reap", "start")
RARE = tuple(sorted({*DEEDS, *MOVES} - {*OFTEN, "spoil", "work until running"}))
POLICIES = ("ExitCode", "ExitCode", "OnFailure", "Never")
REPLICA_POLICIES = {
    "restartPolicy": st.sampled_from(POLICIES),
    "exitCodes": st.sampled_from([{"retryable": ["1", "130-143"]}, {"retryable": []}]),
    "failurePolicy": st.sampled_from(["FailJob", "FailReplica"]),
}


def replica_specs(roles: tuple[str, ...]) -> st.SearchStrategy[dict[str, object]]:
    """What users write about a role."""
    upstream = st.sampled_from(roles).flatmap(
        lambda role: st.sampled_from(["Running", "Ready", "Succeeded"]).map(
            lambda phase: [{"upstream": role, "phase": phase}]
        )
    )
    return st.fixed_dictionaries({}, optional={**REPLICA_POLICIES, "dependsOn": upstream})


@st.composite
def jobs(draw: st.DrawFn) -> JobBuilder:
    """Small jobs of several kinds, with any policies."""
    builder, roles = draw(
        st.sampled_from(
            [
                (tf_job(), ("PS", "Worker")),
                (tf_job(), ("PS", "Chief", "Worker")),
                (tf_job(), ("Worker",)),
                (tf_job(), ("Worker", "Evaluator")),
                (torch_job(), ("Master", "Worker")),
                (torch_job(), ("Worker",)),
                (mpi_job(), ("Worker", "Launcher")),
            ]
        )
    )
    for place, role in enumerate(roles):
        replicas = 1 if role in ("Master", "Chief", "Evaluator", "Launcher") else draw(st.integers(1, 3))
        builder = builder.role(role, replicas, **draw(replica_specs(roles[:place]) if place else policies()))
    spec = st.fixed_dictionaries(
        {},
        optional={
            "restartScope": st.sampled_from(["Job", "Replica"]),
            "successPolicy": st.sampled_from(["", "AllWorkers", "AllReplicas", "AnyWorker"]),
            "backoffLimit": st.integers(0, 3),
            "activeDeadlineSeconds": st.sampled_from([30, 600]),
            "ttlSecondsAfterFinished": st.sampled_from([0, 50]),
            "cleanPodPolicy": st.sampled_from(["All", "Running", "None"]),
            "codeSource": st.just(CODE),
            "networkMode": st.sampled_from(["Pod", "Host", "HostDirect"] if builder.kind.host_network else ["Pod"]),
        },
    )
    return builder.with_spec(**draw(spec))


def policies() -> st.SearchStrategy[dict[str, object]]:
    """Of a role that waits for nobody."""
    return st.fixed_dictionaries({}, optional=REPLICA_POLICIES)


def schedules(*more: str) -> st.SearchStrategy[list[Step]]:
    """What happens, in order; the ordinary more often than the rest, so that jobs come to life."""
    steps = st.tuples(st.sampled_from(OFTEN * 2 + RARE + more), st.integers(0, 7), st.integers(0, 7))
    return st.lists(steps, max_size=20) | st.lists(steps, min_size=20, max_size=60)


@given(job=jobs(), schedule=schedules())
@tried(60)
def test_any_schedule_of_faults_keeps_the_rules_and_ends_well(job: JobBuilder, schedule: list[Step]) -> None:
    """Crashes between any two writes, late and lost news, deaths, lost nodes, collected pods, jobs made again."""
    run(job.kind, job.build(), schedule)


@given(job=jobs(), schedule=schedules("spoil", "spoil", "spoil"))
@tried(30)
def test_spoiled_labels_stop_nobody(job: JobBuilder, schedule: list[Step]) -> None:
    """Somebody edits which attempt a pod is of: retries may be counted differently, but it ends well."""
    run(job.kind, job.build(), schedule)


WORKER = tf_job().workers(1)
GANG_OF_ALL = torch_job().master().workers(2).with_spec(successPolicy="AllReplicas")
CODE = {"repository": "https://git.example.org/model.git"}
SCHEDULES: dict[str, tuple[JobBuilder, list[Step]]] = {
    "told to go, ends with a code that counts": (
        torch_job().master(),
        [("work", 4, 0), ("delete pod", 0, 0), ("exit", 0, 3)],
    ),
    "told to go, ends with a code that is fatal": (
        tf_job().ps(1, restartPolicy="Never"),
        [("work", 3, 0), ("delete pod", 0, 0), ("exit", 0, 2)],
    ),
    "suspended, ends well because it was told to": (
        WORKER,
        [("work", 4, 0), ("work", 3, 0), ("suspend", 0, 0), ("work", 0, 0), ("exit", 0, 0)],
    ),
    "suspended on a node that is lost": (
        WORKER,
        [("work", 4, 0), ("lose node", 0, 0), ("lose node", 0, 0), ("suspend", 0, 0), ("work", 0, 0)],
    ),
    "replaced, and then its node is lost": (
        tf_job().workers(1).evaluator(),
        [("work", 7, 0), ("delete pod", 0, 0), ("work", 0, 0), ("lose node", 0, 0), ("lose node", 0, 0)],
    ),
    "counted while the Service cannot be made": (
        WORKER.scope("Replica"),
        [
            ("work", 5, 0),
            ("delete job", 0, 0),
            ("exit", 0, 0),
            ("make job", 0, 0),
            ("collect ended", 0, 0),
            ("work", 7, 0),
            ("exit", 1, 2),
        ],
    ),
    "succeeded and collected before anybody looked": (
        tf_job().workers(2).with_spec(successPolicy="AllWorkers"),
        [("work", 7, 0), ("exit", 0, 0), ("collect ended", 0, 0)],
    ),
    "told to go, and gone in the same second before anybody looked": (
        WORKER,
        [("work", 7, 0), ("delete pod", 0, 0), ("exit", 0, 0), ("reap", 0, 0)],
    ),
    "succeeded and collected, and the write that says so is lost": (
        tf_job().workers(2).with_spec(successPolicy="AllWorkers"),
        [("work", 7, 0), ("exit", 0, 0), ("collect ended", 0, 0), ("look and suffer", 0, 2)],
    ),
    "made again under its name while old pods leave": (
        torch_job().master().workers(2),
        [("work", 7, 0), ("work", 7, 0), ("delete job", 0, 0), ("make job", 0, 0), ("collect orphan", 0, 0)],
    ),
    "a commit is pushed while replicas start": (
        tf_job().workers(3).scope("Replica").with_spec(codeSource=CODE, successPolicy="AllWorkers"),
        [step for _ in range(6) for step in (("work", 0, 0), ("push", 0, 0), ("start", 0, 0), ("push", 0, 0))],
    ),
    "the first pod is lost when it has the code, and a commit is pushed": (
        torch_job().master().workers(2).with_spec(codeSource=CODE),
        [("work", 1, 0), ("bind", 0, 0), ("start", 0, 0), ("push", 0, 0), ("force pod", 0, 0), ("restart", 0, 0)],
    ),
    "every node is lost for minutes": (
        torch_job().master().workers(2),
        [
            ("work", 7, 0),
            ("work", 7, 0),
            *[("lose node", 0, 0)] * 3,
            *[("deliver all", 0, 0), ("look", 0, 0), ("pass time", 4, 0)] * 4,
            ("suspend", 0, 0),
            *[("deliver all", 0, 0), ("look", 0, 0), ("pass time", 4, 0)] * 2,
        ],
    ),
    "one of a collective is done when the others are suspended": (
        GANG_OF_ALL,
        [("work until running", 0, 0), ("exit", 0, 0), ("suspend", 0, 0), ("work", 7, 0), ("resume", 0, 0)],
    ),
    "evicted for its own use of storage, again and again": (
        WORKER.with_spec(backoffLimit=1),
        [step for _ in range(3) for step in (("work until running", 0, 0), ("exceed", 0, 0), ("pass time", 6, 0))],
    ),
    "killed after each write of a restart": (
        torch_job().master().workers(2),
        [("work", 7, 0), ("work", 7, 0), ("exit", 0, 2)] + [("look and suffer", write, 1) for write in (0, 1, 2, 0, 0)],
    ),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_story(name: str) -> None:
    """Schedules that broke an engine once, or that must not be left to chance."""
    job, schedule = SCHEDULES[name]
    run(job.kind, job.build(), schedule)


RUNNING: Step = ("work until running", 0, 0)
REPAIRED: list[Step] = [("work", 0, 0), ("pass time", 4, 0), RUNNING]
GANG = torch_job().master().workers(2)
LAUNCHED = mpi_job().workers(2).launcher(restartPolicy="ExitCode")
SERVED = tf_job().ps(1).workers(2).with_spec(successPolicy="AllWorkers")
LIVES: dict[str, tuple[JobBuilder, list[Step]]] = {
    "a replica is killed": (SERVED, [RUNNING, ("exit", 1, 2), *REPAIRED]),
    "a replica is deleted": (SERVED, [RUNNING, ("delete pod", 1, 0), *REPAIRED]),
    "one of a collective is killed": (GANG, [RUNNING, ("exit", 1, 2), *REPAIRED]),
    "a launcher is killed": (LAUNCHED, [RUNNING, ("exit", 0, 2), *REPAIRED]),
    "a worker of a launcher is deleted": (LAUNCHED, [RUNNING, ("delete pod", 1, 0), *REPAIRED]),
    "its node is lost": (GANG, [RUNNING, ("lose node", 1, 0), *REPAIRED]),
    "suspended and resumed": (GANG, [RUNNING, ("suspend", 0, 0), ("work", 0, 0), ("resume", 0, 0), *REPAIRED]),
    "suspended when one was done, and resumed": (
        GANG_OF_ALL,
        [RUNNING, ("exit", 0, 0), ("suspend", 0, 0), *[("work", 0, 0)] * 4, ("resume", 0, 0), *REPAIRED],
    ),
    "a replica with code is killed": (
        SERVED.with_spec(codeSource=CODE),
        [RUNNING, ("push", 0, 0), ("exit", 1, 2), *REPAIRED],
    ),
    "too many retries": (GANG.with_spec(backoffLimit=0, cleanPodPolicy="All"), [RUNNING, ("exit", 0, 2)]),
    "deleted after its time": (SERVED.with_spec(ttlSecondsAfterFinished=5), [RUNNING]),
}


@pytest.mark.parametrize("name", LIVES)
def test_killed_at_any_write_it_ends_the_same(name: str) -> None:
    """A write of a life, and a way in which it can go wrong: some are drawn, and all are tried in a proof."""
    job, schedule = LIVES[name]
    undisturbed = run(job.kind, job.build(), schedule)
    assert undisturbed.writes > 5
    for fate in fates(undisturbed, name):
        assert outcome(run(job.kind, job.build(), schedule, fate)) == outcome(undisturbed), fate


LIVES_OF_EVERY_KIND: dict[str, list[Step]] = {
    "a replica is killed": [RUNNING, ("exit", 0, 2), *REPAIRED],
    "suspended and resumed": [RUNNING, ("suspend", 0, 0), ("work", 0, 0), ("resume", 0, 0), *REPAIRED],
}


@pytest.mark.parametrize("name", LIVES_OF_EVERY_KIND)
@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.kind)
def test_a_job_of_any_kind_ends_the_same(kind: Kind, name: str) -> None:
    """With all of its roles, whatever they wait for; killed after some write, in a proof after each."""
    job = JobBuilder(kind, "any")
    for role in kind.roles:
        job = job.role(role.name, restartPolicy="ExitCode")
    schedule = LIVES_OF_EVERY_KIND[name]
    undisturbed = run(kind, job.build(), schedule)
    assert undisturbed.writes > 5
    for fate in fates(undisturbed, f"{kind.kind} {name}", ["crash after"]):
        assert outcome(run(kind, job.build(), schedule, fate)) == outcome(undisturbed), fate


def outcome(simulation: Simulation) -> object:
    """What a user sees in the end."""
    job = simulation.world.job
    if job is None:
        return None
    roles = {role: (status.restarts, status.attempts) for role, status in job.status.replica_statuses.items()}
    assert bool(job.status.code_revision) == (job.spec.code_source is not None)
    return job.status.state, job.status.reason, job.status.retries, job.status.attempt, roles
