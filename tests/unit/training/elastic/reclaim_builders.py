"""Jobs whose nodes will be taken, for tests, and what their plans say."""

from datetime import timedelta
from typing import Any

from kubedl.api.elastic import ElasticStatus, Reclaim, ReclaimCounts
from kubedl.training.elastic.notices import Notice
from kubedl.training.plan import Plan
from tests.training_builders import NOW, JobBuilder, PodBuilder, after, pod, torch_job

TAKEN = "aws-node-termination-handler/spot-itn"
SPOT = {"spot": Notice(TAKEN, timedelta(seconds=120))}


def elastic(workers: int = 3, *, size: int | None = None, timeout: int = 90, **status: Any) -> JobBuilder:  # noqa: ANN401
    """A running job that answers, with one to four workers."""
    known = ElasticStatus(size=workers if size is None else size, **status)
    bounds = {"minReplicas": 1, "maxReplicas": 4, "checkpoint": {"timeoutSeconds": timeout}}
    job = torch_job("bert").workers(workers).with_spec(elastic=bounds, backoffLimit=0)
    job = job.with_status(start_time=NOW, elastic=known).said("Running")
    return job.counted("Worker", active=known.size, ready=known.size)


def pods(job: JobBuilder, *spot: int, number: int = 3) -> list[PodBuilder]:
    """The running pods of the workers; those with these indexes are on the node that will be taken."""
    every = (pod(job, "Worker", index).running() for index in range(number))
    return [one.on("spot" if index in spot else "safe") for index, one in enumerate(every)]


def written(job: JobBuilder, decided: Plan) -> JobBuilder:
    """The job after the plan's status was written."""
    return job.with_status(**{name: getattr(decided.status, name) for name in decided.status.__struct_fields__})


def reclaims(decided: Plan) -> tuple[Reclaim, ...]:
    assert decided.status.elastic is not None
    return decided.status.elastic.reclaims


def counts(decided: Plan) -> ReclaimCounts:
    assert decided.status.elastic is not None
    return decided.status.elastic.reclaim_counts


def phases(decided: Plan) -> list[str]:
    return [record.phase for record in reclaims(decided)]


def removed(decided: Plan) -> list[str]:
    return [one.pod.metadata.name for one in decided.deletions]


def made(decided: Plan) -> list[tuple[int, int]]:
    return [(one.replica.index, one.attempt) for one in decided.creations]


def record(phase: str, **fields: Any) -> Reclaim:  # noqa: ANN401
    """One that has come so far, of worker 2."""
    given = {"node": "spot", "source": TAKEN, "seen_at": NOW, "taken_at": after(120), "replicas": "2"}
    if phase != "Noticed":
        given |= {"request": 1, "requested_at": NOW}
    return Reclaim(**{**given, "phase": phase, **fields})


def at(phase: str, **fields: Any) -> JobBuilder:  # noqa: ANN401
    """A job with one reclaim that has come so far."""
    return elastic(reclaims=(record(phase, **fields),), requests=1, members="0-2")
