"""successPolicy, for any kind: who must be done, and whether the job still can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubedl.training.job import Replica
from kubedl.training.policies.success_policy import can_be_done, is_done
from tests.hypothesis_settings import tried
from tests.training_builders import JobBuilder, tf_job, torch_job

TORCH = torch_job().master().workers(2)
CHIEF = tf_job().ps(1).chief().workers(2)
WORKERS = tf_job().workers(3).evaluator()
EVERYBODY = {"PS": {0}, "Chief": {0}, "Worker": {0, 1}}


def done(job: JobBuilder, policy: str, **indexes: set[int]) -> bool:
    """Whether the job is done under a policy when these are."""
    chosen = job.with_spec(successPolicy=policy)
    finished = {role: frozenset(members) for role, members in indexes.items()}
    return is_done(job.kind, job.kind.job(chosen.build()), finished)


@pytest.mark.parametrize(
    ("job", "policy", "finished", "expected"),
    [
        (TORCH, "", {"Master": {0}}, False),
        (TORCH, "", {"Master": {0}, "Worker": {0, 1}}, True),
        (TORCH, "AllWorkers", {"Worker": {0, 1}}, False),
        (TORCH, "AnyWorker", {"Worker": {1}}, True),
        (TORCH, "AnyWorker", {"Master": {0}}, False),
        (TORCH, "AllReplicas", {"Master": {0}, "Worker": {0, 1}}, True),
        (CHIEF, "", {"Chief": {0}}, True),
        (CHIEF, "AllWorkers", {"Chief": {0}, "Worker": {0}}, False),
        (CHIEF, "AllWorkers", {"Chief": {0}, "Worker": {0, 1}}, True),
        (CHIEF, "AllReplicas", {"Chief": {0}, "Worker": {0, 1}}, False),
        (CHIEF, "AllReplicas", EVERYBODY, True),
        (CHIEF, "AnyWorker", {"Worker": {1}}, True),
        (WORKERS, "AnyWorker", {"Worker": {2}}, True),
        (WORKERS, "AnyWorker", {"Evaluator": {0}}, False),
        (WORKERS, "AllReplicas", {"Worker": {0, 1, 2}}, False),
        (tf_job().chief(), "AllWorkers", {"Chief": {0}}, True),
        (tf_job().chief().workers(0), "AnyWorker", {"Chief": {0}}, True),
        (tf_job().chief().workers(0), "AnyWorker", {}, False),
    ],
)
def test_who_must_be_done(job: JobBuilder, policy: str, finished: dict[str, set[int]], expected: bool) -> None:
    """AllWorkers adds to the kind's own rule, the others replace it."""
    assert expected == done(job, policy, **finished)


@given(data=st.data(), policy=st.sampled_from(["", "AllWorkers", "AllReplicas", "AnyWorker"]))
@tried(100)
def test_more_success_never_undoes_success(data: st.DataObject, policy: str) -> None:
    """Else a job could be done for a moment, and what can still be reached could not be told."""
    job = data.draw(st.sampled_from([TORCH, CHIEF, WORKERS]))
    view = job.kind.job(job.build())
    some = {role: data.draw(st.sets(st.integers(0, view.count(role) - 1))) for role in view.roles}
    more = {role: some[role] | data.draw(st.sets(st.integers(0, view.count(role) - 1))) for role in view.roles}
    assert done(job, policy, **some) <= done(job, policy, **more)


@pytest.mark.parametrize(
    ("job", "policy", "lost", "expected"),
    [
        (CHIEF, "", [], True),
        (CHIEF, "", [Replica("Worker", 0), Replica("Worker", 1)], True),
        (CHIEF, "", [Replica("Chief", 0)], False),
        (CHIEF, "AllWorkers", [Replica("Worker", 1)], False),
        (WORKERS, "", [Replica("Worker", 0)], False),
        (WORKERS, "", [Replica("Worker", 1)], True),
        (WORKERS, "AnyWorker", [Replica("Worker", 0), Replica("Worker", 1)], True),
        (WORKERS, "AnyWorker", [Replica("Worker", index) for index in range(3)], False),
        (WORKERS, "AllReplicas", [Replica("Evaluator", 0)], False),
        (TORCH, "", [Replica("Worker", 0)], False),
    ],
)
def test_whether_it_can_be_done_without_some(job: JobBuilder, policy: str, lost: list[Replica], expected: bool) -> None:
    """If all the others succeed."""
    chosen = job.with_spec(successPolicy=policy)
    assert expected == can_be_done(job.kind, job.kind.job(chosen.build()), lost)
