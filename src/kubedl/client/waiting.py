"""Waiting for a state of a job: what the words mean, and what ends the wait."""

from collections.abc import Callable, Collection

from kubedl.client.job import Job

DELETED = "deleted"
MODEL = "model"


def is_ready(job: Job) -> bool:
    """Return whether all pods of a job are ready."""
    ready, _, wanted = str(job.status.get("ready") or "").partition("/")
    return bool(wanted) and ready == wanted


_WORDS: dict[str, Callable[[Job], bool]] = {
    "complete": lambda job: job.is_succeeded,
    "running": lambda job: job.state == "Running" or job.is_finished,
    "ready": lambda job: is_ready(job) or job.is_succeeded,  # one that has ended will not be so any more
    MODEL: lambda job: job.is_succeeded and bool(job.status.get("modelVersionName")),
}


def is_reached(job: Job, wanted: Collection[str]) -> bool:
    """Return whether a job is in one of these states: complete, running, ready, or any condition."""
    return any(_WORDS[word](job) if word in _WORDS else job.has_condition(word) for word in map(str.lower, wanted))


def is_hopeless(job: Job, wanted: Collection[str]) -> bool:
    """Return whether a job has ended in another way than the one that is waited for."""
    words = {word.lower() for word in wanted}
    return job.is_failed and not words & {"failed", DELETED}
