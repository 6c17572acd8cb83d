"""A worker is deleted, killed or lost with its node in the middle of a training, and the job ends as without it.

With parameter servers only the lost replica starts anew, and the chief goes on with what is there. In a
collective the survivors are lost too: all start anew, as a new attempt, from the last checkpoint. Only the
kill counts against backoffLimit, and counts once; what people are told is the cause, not its echoes.
"""

import pytest

from testbed.api import Object
from testbed.faults import Faults
from testbed.waiting import until
from tests import sampling
from tests.e2e.training import containers
from tests.e2e.training.conftest import Submit
from tests.e2e.training.jobs import DDP, MULTI_WORKER, PARAMETER_SERVER, TORCHRUN, Training
from tests.e2e.training.observed import END, ObservedJob

ATTEMPT = "training.kubedl.io/attempt"
RETRY_ME = 138  # with which the chief of workloads/parameter_server.py asks for another try
Pods = dict[str, Object]


WITH_PARAMETER_SERVERS = sampling.one_of(("deleted", "killed", "lost"), "parameter servers")


def _each(rule: str, *collectives: Training) -> pytest.MarkDecorator:
    """Parameter servers and collectives are repaired differently. CI draws one collective for each rule, and the rule
    that parameter servers are tried with: five processes of TensorFlow take a minute to start.
    """
    servers = [PARAMETER_SERVER] if rule in WITH_PARAMETER_SERVERS else []
    trainings = (*servers, *sampling.one_of(collectives, rule))
    return pytest.mark.parametrize("training", trainings, ids=lambda training: training.name)


@_each("deleted", MULTI_WORKER, DDP)
def test_a_deleted_worker(submit: Submit, training: Training) -> None:
    """Somebody's kubectl delete is nobody's failure."""
    job = submit(training, held=True)
    job.trains()
    before = job.pods()
    victim = _worker(training, before)
    job.workspace.cluster.api.delete(f"/api/v1/namespaces/{job.workspace.namespace}/pods/{victim}")
    _recovers(job, before, victim)
    assert job.status("retries") == 0
    assert _told(job).startswith(f"{victim} was deleted")


@_each("killed", MULTI_WORKER, DDP, TORCHRUN)
def test_a_killed_worker(submit: Submit, training: Training) -> None:
    """Exit code 137 is worth another try, and one try is what it costs."""
    job = submit(training, held=True)
    job.trains()
    before = job.pods()
    victim = _worker(training, before)
    containers.kill(job.workspace.cluster, before[victim])
    _recovers(job, before, victim)
    assert job.status("retries") == 1
    assert _told(job).startswith(f"{victim} failed with exit code 137")


@pytest.mark.disruptive
@_each("lost", MULTI_WORKER, DDP)
def test_a_worker_lost_with_its_node(submit: Submit, faults: Faults, training: Training) -> None:
    """Replaced elsewhere while its node is away, and nothing counted."""
    job = submit(training, held=True)
    job.trains()
    before = job.pods()
    victim = _worker(training, before)
    node = before[victim]["spec"]["nodeName"]
    with faults.cut_off(int(node.removeprefix("node"))):
        _recovers(job, before, victim)
    job.workspace.cluster.parts.wait_ready(2, deadline=END)
    assert job.status("retries") == 0
    assert f"was lost with node {node}" in _told(job)


def test_a_killed_chief(submit: Submit) -> None:
    """It goes on from its checkpoint, with the parameter server and the workers that are still there.

    They may look for it at its old address for a while, because gRPC asks for a name's address at most twice a minute.
    TensorFlow then gives up in the new chief, which asks for another try, and each one is told and counted.
    """
    job = submit(PARAMETER_SERVER, held=True)
    job.trains()
    before, chief = job.pods(), PARAMETER_SERVER.leader
    containers.kill(job.workspace.cluster, before[chief])
    _recovers(job, before, chief)
    job.wait("the chief to say where it goes on", lambda: job.resumed_at(chief) > 0)
    until("a Warning about each retry", lambda: len(job.warnings()) == job.status("retries"), deadline=END)
    killed, again = (f"{chief} failed with exit code {code}" for code in (137, RETRY_ME))
    told = [message.startswith(killed) for message in job.warnings() if message.startswith((killed, again))]
    assert (sum(told), len(told)) == (1, job.status("retries")), job.story()


def _worker(training: Training, pods: Pods) -> str:
    """The last worker that shares no node with those who are pinned to one."""
    return max(
        name
        for name, pod in pods.items()
        if pod["metadata"]["labels"]["replica-type"] == "worker" and pod["spec"]["nodeName"] != training.pinned
    )


def _recovers(job: ObservedJob, before: Pods, victim: str) -> None:
    """Exactly those start anew who must, they go on from a checkpoint, and the job ends well."""
    collective = job.training is not PARAMETER_SERVER
    anew = job.training.pods if collective else {victim}
    job.wait(f"{len(anew)} of {len(before)} pods to be new", lambda: _new(before, job.pods()) == anew)
    after = job.pods()
    assert {name: pod["metadata"]["labels"][ATTEMPT] for name, pod in after.items()} == {
        name: "1" if name in anew else "0" for name in before
    }
    job.trains(beyond=job.checkpoints.step() + 1)  # the one more that may have been under way
    if collective:
        job.wait("all to say where they go on", lambda: all(job.resumed_at(name) > 0 for name in anew))
        steps = {job.resumed_at(name) for name in anew}
        assert len(steps) == 1
    elif "worker" in victim:
        job.wait(f"{victim} to work", lambda: "did a share" in job.log(victim))
    job.checkpoints.release()
    job.succeeded()
    job.nothing_runs()


def _new(before: Pods, now: Pods) -> set[str]:
    """Whose pod is another than before; nobody's while one is missing."""
    if before.keys() != now.keys():
        return set()
    return {name for name, pod in now.items() if pod["metadata"]["uid"] != before[name]["metadata"]["uid"]}


def _told(job: ObservedJob) -> str:
    """The only warning."""
    until("a Warning about the job", job.warnings, deadline=END)
    (message,) = job.warnings()
    return message
