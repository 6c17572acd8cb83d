"""All replicas of a job run the same commit, and a job whose code cannot be had says why."""

from dataclasses import replace

import msgspec
import pytest

from kubedl.api.conditions import find
from kubedl.kube.types.core import ContainerState, ContainerStatus, PodStatus, Terminated, Waiting
from kubedl.training.plan import Plan
from tests.training_builders import PodBuilder, decide, pod, tf_job

JOB = tf_job("mnist").workers(3).with_spec(codeSource={"repository": "https://git.example.org/model.git"})
PINNED = JOB.with_status(code_revision="a" * 40)


def synced(builder: PodBuilder, code: int, message: str, *, waiting: bool = False) -> PodBuilder:
    """A pod whose init container has ended so, or is about to be started again after it had."""
    ended = ContainerState(terminated=Terminated(exit_code=code, message=message, reason="Error" if code else ""))
    now = ContainerState(waiting=Waiting(reason="CrashLoopBackOff")) if waiting else ended
    status = ContainerStatus(name="git-sync-code", state=now, last_state=ended if waiting else ContainerState())
    return replace(builder, status=msgspec.structs.replace(builder.status, init_container_statuses=(status,)))


def made(decided: Plan) -> list[int]:
    """Indexes of the pods to be created."""
    return [creation.replica.index for creation in decided.creations]


def test_one_pod_is_made_first() -> None:
    """And nobody else while it has not said which commit it got."""
    assert made(decide(JOB)) == [0]
    assert made(decide(JOB, pod(JOB, "Worker", 0))) == []
    assert made(decide(JOB, pod(JOB, "Worker", 0).going(30))) == []


def test_what_it_got_is_written_before_others_are_made() -> None:
    """A crash between the two must not let the others have another commit."""
    first = synced(pod(JOB, "Worker", 0), 0, "a" * 40)
    decided = decide(JOB, first)
    assert (decided.status.code_revision, made(decided)) == ("a" * 40, [])
    assert made(decide(PINNED, first)) == [1, 2]


def test_a_commit_that_is_written_stays() -> None:
    """Whatever a pod says later."""
    decided = decide(PINNED, synced(pod(JOB, "Worker", 0), 0, "b" * 40))
    assert decided.status.code_revision == "a" * 40


def test_a_commit_that_was_asked_for_by_its_number_needs_no_first_pod() -> None:
    """It is known from the start; a branch or a shortened number is not."""
    source = {"repository": "https://git.example.org/model.git"}
    decided = decide(JOB.with_spec(codeSource={**source, "revision": "c" * 40}))
    assert (made(decided), decided.status.code_revision) == ([0, 1, 2], "c" * 40)
    assert made(decide(JOB.with_spec(codeSource={**source, "revision": "c" * 39}))) == [0]


def test_the_last_word_of_a_pod_that_is_gone_counts() -> None:
    """It may have started to train."""
    gone = synced(pod(JOB, "Worker", 0), 0, "a" * 40).going()
    assert decide(JOB, deleted=[gone]).status.code_revision == "a" * 40


@pytest.mark.parametrize("waiting", [True, False], ids=["about to be started again", "ended"])
@pytest.mark.parametrize("phase", ["Pending", "Failed"])
def test_code_that_cannot_be_had_fails_the_job_with_gits_words(phase: str, waiting: bool) -> None:
    """Whether the kubelet would go on trying or not."""
    first = replace(pod(JOB, "Worker", 0), status=PodStatus(phase=phase))
    decided = decide(JOB, synced(first, 1, "fatal: repository not found\n", waiting=waiting))
    found = find(decided.status.conditions, "Failed")
    assert found is not None
    assert found.reason == "CodeSyncFailed"
    assert found.message == "mnist-worker-0 could not fetch the code: fatal: repository not found"


def test_a_fetch_that_was_killed_is_tried_again() -> None:
    """Nothing is known about the code yet."""
    first = replace(pod(JOB, "Worker", 0), status=PodStatus(phase="Failed"))
    decided = decide(JOB, synced(first, 137, ""))
    assert (decided.status.state, decided.status.attempt, decided.status.retries) == ("Restarting", 1, 1)


def test_a_fetch_that_says_no_commit_fails_the_job() -> None:
    """Nobody would ever know what the others must run."""
    decided = decide(JOB, synced(pod(JOB, "Worker", 0).running(), 0, "done"))
    assert decided.status.reason == "CodeSyncFailed"


def test_after_the_first_success_a_failure_is_tried_again() -> None:
    """A job that has trained for days does not end because a server is away for a minute."""
    pods = [pod(JOB, "Worker", index).running() for index in (0, 1)]
    late = replace(pod(JOB, "Worker", 2), status=PodStatus(phase="Failed"))
    job = PINNED.scope("Replica")
    decided = decide(job, *pods, synced(late, 1, "fatal: unable to access"))
    assert (decided.status.state, decided.status.retries) == ("Restarting", 1)
    assert "worker-2 could not fetch the code: fatal: unable to access; it is replaced" in decided.events[0].message
    pending = synced(pod(JOB, "Worker", 2), 1, "fatal: unable to access", waiting=True)
    assert decide(job, *pods, pending).deletions == ()


def test_an_edit_that_cannot_be_understood_does_not_end_a_job_that_runs() -> None:
    """It would keep a new one from starting."""
    job = tf_job("mnist").workers(1).with_metadata(annotations={"kubedl.io/git-sync-config": "{"})
    assert decide(job).status.reason == "CodeSourceInvalid"
    running = job.with_status(start_time=job.build().metadata.creation_timestamp)
    assert decide(running, pod(job, "Worker").running()).status.state == "Running"


def test_a_repository_that_is_too_large_fails_the_job_with_what_to_do() -> None:
    """It would be killed again and again."""
    ended = ContainerState(terminated=Terminated(exit_code=137, reason="OOMKilled"))
    status = ContainerStatus(name="git-sync-code", state=ended)
    first = replace(pod(JOB, "Worker", 0), status=PodStatus(phase="Pending", init_container_statuses=(status,)))
    found = find(decide(JOB, first).status.conditions, "Failed")
    assert found is not None
    assert "it ran out of memory; give it more in spec.codeSource.resources" in found.message
