"""Whatever happens to a job, its pods, its nodes and its operator: the rules of `invariants` hold, and it ends well."""

from hypothesis import given
from hypothesis import strategies as st

from tests.training_builders import JobBuilder, tf_job, torch_job
from tests.unit.training.properties import tried
from tests.unit.training.simulation import DEEDS, MOVES, Step, run

OFTEN = ("work", "work", "work", "look", "look and suffer", "deliver", "exit", "exit", "exit", "reap", "start")
RARE = tuple(sorted({*DEEDS, *MOVES} - {*OFTEN, "spoil"}))
POLICIES = ("ExitCode", "ExitCode", "OnFailure", "Never")


def replica_specs(roles: tuple[str, ...]) -> st.SearchStrategy[dict[str, object]]:
    """What users write about a role."""
    upstream = st.sampled_from(roles).flatmap(
        lambda role: st.sampled_from(["Running", "Ready", "Succeeded"]).map(
            lambda phase: [{"upstream": role, "phase": phase}]
        )
    )
    return st.fixed_dictionaries({}, optional={"restartPolicy": st.sampled_from(POLICIES), "dependsOn": upstream})


@st.composite
def jobs(draw: st.DrawFn) -> JobBuilder:
    """Small jobs of both kinds, with any policies."""
    builder, roles = draw(
        st.sampled_from(
            [
                (tf_job(), ("PS", "Worker")),
                (tf_job(), ("PS", "Chief", "Worker")),
                (tf_job(), ("Worker",)),
                (tf_job(), ("Worker", "Evaluator")),
                (torch_job(), ("Master", "Worker")),
                (torch_job(), ("Worker",)),
            ]
        )
    )
    for place, role in enumerate(roles):
        replicas = 1 if role in ("Master", "Chief", "Evaluator") else draw(st.integers(1, 3))
        builder = builder.role(role, replicas, **draw(replica_specs(roles[:place]) if place else policies()))
    spec = st.fixed_dictionaries(
        {},
        optional={
            "restartScope": st.sampled_from(["Job", "Replica"]),
            "backoffLimit": st.integers(0, 3),
            "activeDeadlineSeconds": st.sampled_from([30, 600]),
            "ttlSecondsAfterFinished": st.sampled_from([0, 50]),
            "cleanPodPolicy": st.sampled_from(["All", "Running", "None"]),
        },
    )
    return builder.with_spec(**draw(spec))


def policies() -> st.SearchStrategy[dict[str, object]]:
    """Of a role that waits for nobody."""
    return st.fixed_dictionaries({}, optional={"restartPolicy": st.sampled_from(POLICIES)})


def schedules() -> st.SearchStrategy[list[Step]]:
    """What happens, in order; the ordinary more often than the rest, so that jobs come to life."""
    steps = st.tuples(st.sampled_from(OFTEN * 2 + RARE), st.integers(0, 7), st.integers(0, 7))
    return st.sampled_from([0, 10, 20, 40]).flatmap(lambda least: st.lists(steps, min_size=least, max_size=least + 20))


@given(job=jobs(), schedule=schedules())
@tried(60)
def test_any_schedule_of_faults_keeps_the_rules_and_ends_well(job: JobBuilder, schedule: list[Step]) -> None:
    """Crashes between any two writes, late and lost news, deaths, lost nodes, collected pods, jobs made again."""
    run(job.kind, job.build(), schedule)
