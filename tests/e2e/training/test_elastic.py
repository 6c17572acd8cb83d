"""A job with real torchrun gets a worker more and a worker less while it trains."""

from testbed.waiting import until
from tests.e2e.training.conftest import Submit
from tests.e2e.training.jobs import ELASTIC
from tests.e2e.training.observed import END, ObservedJob


def test_a_job_is_resized_while_it_trains(submit: Submit) -> None:
    """The pods that stay are the same ones, training goes on from its checkpoint, and nothing counts as a retry."""
    job = submit(ELASTIC, held=True)
    job.trains()
    before = {name: pod["metadata"]["uid"] for name, pod in job.pods().items()}
    for size, starts in ((3, 1), (2, 2)):
        step = job.checkpoints.step()
        _scale(job, size)
        job.wait(f"{size} workers to train", lambda: _starts(job, size) == starts)  # noqa: B023 - waited for here
        job.trains(beyond=job.checkpoints.step() + 1)
        assert job.resumed_at(ELASTIC.leader) >= step
    until("the removed worker to be gone", lambda: len(job.pods()) == 2, deadline=END)
    assert {name: pod["metadata"]["uid"] for name, pod in job.pods().items()} == before
    elastic = job.body["status"]["elastic"]
    assert (elastic["size"], elastic["members"], elastic["changes"]) == (2, "0-1", 2)
    assert (job.status("retries"), job.status("attempt")) == (0, 0)
    job.checkpoints.release()
    job.succeeded()


def _scale(job: ObservedJob, size: int) -> None:
    flags = (f"--namespace={job.workspace.namespace}", f"--replicas={size}")
    job.workspace.cluster.kubectl("scale", "pytorchjob", job.training.name, *flags)


def _starts(job: ObservedJob, size: int) -> int:
    """Return how often the first worker has begun to train in a group of this size."""
    return job.log(ELASTIC.leader).count(f" of {size} meets at ")
