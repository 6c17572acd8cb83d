"""The pauses of many refused jobs of one namespace, and of one job beside them."""

from datetime import UTC, datetime, timedelta

from kubedl.kube.types.meta import ObjectMeta
from kubedl.training.creation_backoff import ATTEMPTS, LONGEST, CreationBackoff

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def job(name: str, namespace: str = "many") -> ObjectMeta:
    """One that was refused something."""
    return ObjectMeta(name=name, namespace=namespace, uid=name)


def pause(holds: CreationBackoff, meta: ObjectMeta, now: datetime = NOW) -> timedelta:
    """How long it waits after a refusal."""
    holds.record_refusal(meta, "no", now)
    until = holds.until(meta, now)
    assert until is not None
    return until - now


def test_many_refused_jobs_share_the_attempts_of_a_second() -> None:
    """And a job of another namespace, or after the others are gone, is tried as soon as if it were alone."""
    holds, jobs = CreationBackoff(lambda: 0.0), [job(f"job-{number}") for number in range(600)]
    for meta in jobs:
        holds.record_refusal(meta, "no", NOW)
    assert pause(holds, jobs[0]) == timedelta(seconds=600 / ATTEMPTS)
    assert pause(holds, job("alone", "other")) == timedelta(seconds=2)
    for meta in jobs:
        holds.release(meta.key)
    assert pause(holds, jobs[0]) == timedelta(seconds=2)


def test_no_pause_is_longer_than_the_longest() -> None:
    """However many they are."""
    holds = CreationBackoff(lambda: 0.0)
    for number in range(5000):
        holds.record_refusal(job(f"job-{number}"), "no", NOW)
    assert pause(holds, job("last")) == LONGEST


def test_a_clock_that_is_set_back_holds_no_job_up() -> None:
    """By an hour, for example when a node's clock is first synchronised."""
    holds, meta, back = CreationBackoff(lambda: 0.0), job("one"), NOW - timedelta(hours=1)
    assert pause(holds, meta) == timedelta(seconds=2)
    holds.record_terminating(meta.namespace, NOW)
    assert holds.terminating_until(meta, NOW) is not None
    assert holds.until(meta, back) is None
    assert holds.terminating_until(meta, back) is None
    assert pause(holds, meta, back) == timedelta(seconds=4)
    holds.record_refusal(meta, "first", NOW)
    assert holds.throttled_message(meta, "second", back) == "second"
