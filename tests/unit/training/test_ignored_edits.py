"""What is asked of a job after it has begun is ignored, and the job says so; nothing that runs is lost by it."""

import json

import pytest

from kubedl.api.conditions import find
from kubedl.training import pods
from kubedl.training.addons import code_source
from kubedl.training.job import Replica
from kubedl.training.observed import Settings
from kubedl.training.plan import Plan
from tests.training_builders import NOW, JobBuilder, decide, pod, tf_job

JOB = tf_job().ps(1).workers(2).with_status(start_time=NOW)
RUNNING = [pod(JOB, "PS").running(), pod(JOB, "Worker", 0).running(), pod(JOB, "Worker", 1).running()]
ELASTIC = "kubedl.io/enable-elastic-training"


def annotated(job: JobBuilder, **more: str) -> JobBuilder:
    """The job with code asked for by annotation."""
    config = {"source": "https://git.example.org/model.git", **more}
    return job.with_metadata(annotations={code_source.ANNOTATION: json.dumps(config)})


def said(decided: Plan) -> tuple[str, str] | None:
    """Status and reason of the condition."""
    found = find(decided.status.conditions, "EditIgnored")
    return (found.status, found.reason) if found is not None else None


def written(job: JobBuilder, decided: Plan) -> JobBuilder:
    """The job after the plan's status was written."""
    return job.with_status(**{name: getattr(decided.status, name) for name in decided.status.__struct_fields__})


@pytest.mark.parametrize("revision", ["", "c" * 40])
def test_code_that_is_asked_for_while_pods_run_is_ignored(revision: str) -> None:
    """A replica that dies later is replaced, without code as the others are."""
    job, alive = annotated(JOB, revision=revision), [one.without_code() for one in RUNNING[:2]]
    gone = RUNNING[2].without_code().running().going(1)
    first = decide(job, *alive, deleted=[gone], now=2)
    assert said(first) == ("True", "CodeAddedLate")
    assert [event.reason for event in first.events if event.reason == "CodeAddedLate"] == ["CodeAddedLate"]
    assert (first.creations, first.status.code_revision) == ((), "")
    job = written(job, first)
    second = decide(job, *alive, now=3)
    assert [creation.replica.index for creation in second.creations] == [1]
    assert said(second) == ("True", "CodeAddedLate")
    made = job.kind.job(job.build())
    body = pods.render(job.kind, made, Replica("Worker", 1), 1, scope="Replica", settings=Settings())
    assert "initContainers" not in body["spec"]


def test_an_edit_in_the_moment_of_a_creation_is_written_first() -> None:
    """The pod that is missing would get what the others have not."""
    job = annotated(JOB, revision="c" * 40)
    decided = decide(job, *(one.without_code() for one in RUNNING[:2]))
    assert (said(decided), decided.creations) == (("True", "CodeAddedLate"), ())


def test_code_that_was_asked_for_from_the_start_is_not_late() -> None:
    """Its first pod has the container that fetches it, whatever it has said."""
    job = annotated(JOB.with_status(start_time=NOW))
    assert said(decide(job, pod(job, "PS"))) is None


def test_an_annotation_that_is_taken_back_is_ignored_no_more() -> None:
    """And the next replica is made as ever."""
    ignored = decide(annotated(JOB), *(one.without_code() for one in RUNNING))
    assert said(decide(written(JOB, ignored), *RUNNING)) == ("False", "NothingIgnored")


def test_after_a_suspension_the_code_is_fetched() -> None:
    """Everybody starts anew then."""
    job = annotated(JOB)
    ignored = written(job, decide(job, *(one.without_code() for one in RUNNING)))
    suspended = decide(ignored.suspended(), *(one.without_code().going(1) for one in RUNNING))
    assert said(suspended) == ("False", "JobSuspended")
    resumed = written(job, decide(written(job, suspended)))
    assert code_source.is_wanted(resumed.build())
    assert len(decide(resumed).creations) == 1  # it tells the others which commit


@pytest.mark.parametrize("value", ["true", "false"])
def test_an_annotation_that_cannot_be_honoured_does_not_end_a_job_that_runs(value: str) -> None:
    """It would have been refused at the start; now the trainings of days are worth more."""
    job = JOB.with_metadata(annotations={ELASTIC: value})
    decided = decide(job, *RUNNING)
    assert (decided.status.state, decided.deletions) == ("Running", ())
    assert said(decided) == (("True", "AnnotationAddedLate") if value == "true" else None)
