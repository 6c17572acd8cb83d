"""Why a replica is not there any more, and what that costs."""

from datetime import timedelta

import msgspec
import pytest

from kubedl.api.replica_spec import RestartPolicy
from kubedl.api.training import RestartScope
from kubedl.kube.types.core import ContainerState, ContainerStatus, Terminated
from kubedl.training.job import JobRole
from kubedl.training.policies.exit_codes import RETRYABLE_EXITS
from kubedl.training.policies.failure_policy import Failure, FailureClass, classify, has_succeeded
from kubedl.training.policies.safe_time import LONG_AGO
from tests.training_builders import NOW, PodBuilder, after, pod, tf_job

JOB = tf_job().workers(1)
WORKER = pod(JOB, "Worker").on("node1")


def role(policy: RestartPolicy = "ExitCode") -> JobRole:
    """A worker under a restart policy."""
    job = tf_job().workers(1, restartPolicy=policy)
    return job.kind.job(job.build()).roles["Worker"]


def verdict(made: PodBuilder, policy: RestartPolicy = "ExitCode", scope: RestartScope = "Replica") -> Failure | None:
    """On the pod of a TFJob."""
    return classify(made.replica, made.build(), "tensorflow", role(policy), scope)


def cost(made: PodBuilder, policy: RestartPolicy = "ExitCode", scope: RestartScope = "Replica") -> FailureClass | None:
    """What the verdict costs; None if there is none."""
    found = verdict(made, policy, scope)
    return found.cost if found is not None else None


@pytest.mark.parametrize("made", [WORKER, WORKER.running(), WORKER.succeeded()], ids=["pending", "running", "done"])
def test_a_pod_that_is_well_gets_no_verdict(made: PodBuilder) -> None:
    """Nor one that has succeeded."""
    assert verdict(made) is None


@pytest.mark.parametrize("code", sorted(RETRYABLE_EXITS))
def test_exit_codes_that_say_try_again(code: int) -> None:
    """Under the policy ExitCode, in both scopes."""
    assert cost(WORKER.failed(code)) is FailureClass.RETRYABLE
    assert cost(WORKER.failed(code), scope="Job") is FailureClass.RETRYABLE


@pytest.mark.parametrize("code", [1, 2, 126, 127, 128, 129, 131, 139, 255])
def test_exit_codes_that_say_no(code: int) -> None:
    """A segmentation fault (139) among them."""
    assert cost(WORKER.failed(code)) is FailureClass.PERMANENT


@pytest.mark.parametrize(
    ("policy", "scope", "expected"),
    [
        ("Never", "Replica", FailureClass.PERMANENT),
        ("Never", "Job", FailureClass.PERMANENT),
        (
            "OnFailure",
            "Replica",
            FailureClass.PERMANENT,
        ),  # there the kubelet restarts; a pod that failed all the same is lost
        ("OnFailure", "Job", FailureClass.RETRYABLE),
        ("Always", "Job", FailureClass.PERMANENT),
    ],
)
@pytest.mark.parametrize("code", [1, 137])
def test_other_policies_do_not_look_at_the_code(
    policy: RestartPolicy, scope: RestartScope, expected: FailureClass, code: int
) -> None:
    """Only ExitCode does."""
    assert cost(WORKER.failed(code), policy, scope) is expected


@pytest.mark.parametrize(
    "made",
    [
        WORKER.failed(137).disrupted(),
        WORKER.failed(1).disrupted("PreemptionByScheduler"),
        WORKER.failed(137, reason="Evicted").disrupted("TerminationByKubelet"),
        WORKER.failed(1, reason="NodeShutdown"),
        WORKER.refused("OutOfcpu"),
        WORKER.refused("OutOfnvidia.com/gpu"),
        WORKER.refused("NodeAffinity"),
        WORKER.refused("UnexpectedAdmissionError"),
        WORKER.refused("NodePorts"),
        WORKER.refused("TaintToleration"),
        WORKER.going(),
        WORKER.running().going(),
    ],
)
@pytest.mark.parametrize("policy", ["ExitCode", "Never", "OnFailure"])
def test_a_disruption_costs_nothing(made: PodBuilder, policy: RestartPolicy) -> None:
    """Whatever the policy and the exit code: it was nobody's fault."""
    assert cost(made, policy) is FailureClass.DISRUPTION


@pytest.mark.parametrize("made", [WORKER.failed(137, reason="Evicted"), WORKER.refused("Evicted")])
def test_an_eviction_for_the_pods_own_use_of_storage_is_a_failure(made: PodBuilder) -> None:
    """A kubelet marks those that are for the node's sake; without the mark it would happen again, for ever."""
    assert {policy: cost(made, policy) for policy in ("ExitCode", "OnFailure", "Always", "Never")} == {
        "ExitCode": FailureClass.RETRYABLE,
        "OnFailure": FailureClass.RETRYABLE,
        "Always": FailureClass.RETRYABLE,
        "Never": FailureClass.PERMANENT,
    }


@pytest.mark.parametrize("code", [1, 137, 143, 2])
@pytest.mark.parametrize("policy", ["ExitCode", "Never"])
def test_how_a_pod_ends_that_was_told_to_go_is_not_its_own_doing(code: int, policy: RestartPolicy) -> None:
    """Else the cost of a deletion would depend on who looks first: the operator or the kubelet."""
    assert cost(WORKER.failed(code).going(30), policy) is FailureClass.DISRUPTION


def test_success_is_to_end_by_oneself() -> None:
    """A process that takes SIGTERM well has not finished its work."""
    assert has_succeeded(WORKER.succeeded().build())
    assert not has_succeeded(WORKER.succeeded().going(30).build())
    assert not has_succeeded(WORKER.running().build())
    assert not has_succeeded(None)
    assert cost(WORKER.succeeded().going(30)) is FailureClass.DISRUPTION


def test_a_pod_that_had_ended_before_it_was_deleted_counts() -> None:
    """The API server dates the deletion of an ended pod too; in the same second, its end is its own doing."""
    assert has_succeeded(WORKER.succeeded(at=0).collected(at=5).build())
    assert has_succeeded(WORKER.succeeded(at=5).collected(at=5).build())
    assert not has_succeeded(WORKER.succeeded(at=6).collected(at=5).build())
    assert cost(WORKER.failed(137, at=0).collected(at=5), "ExitCode") is FailureClass.RETRYABLE


def test_a_disruption_that_was_called_off_is_none() -> None:
    """The condition may be there and false."""
    assert cost(WORKER.failed(1).condition("DisruptionTarget", "False")) is FailureClass.PERMANENT


def test_a_failure_without_any_ending_is_permanent() -> None:
    """For example a deadline of the pod's own."""
    found = verdict(WORKER.refused("DeadlineExceeded"))
    assert found == Failure(WORKER.replica, FailureClass.PERMANENT, NOW, "failed: DeadlineExceeded")


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (WORKER.failed(137), "failed with exit code 137"),
        (WORKER.failed(137, why="OOMKilled"), "failed with exit code 137 (OOMKilled)"),
        (WORKER.failed(143, reason="NodeShutdown"), "was ended by its node: NodeShutdown"),
        (WORKER.refused("Evicted", "usage of EmptyDir exceeds 1Gi"), "was evicted: usage of EmptyDir exceeds 1Gi"),
        (WORKER.failed(1).disrupted(message="node is drained"), "was disrupted: node is drained"),
        (WORKER.failed(1).disrupted("EvictionByEvictionAPI"), "was disrupted: EvictionByEvictionAPI"),
        (WORKER.running().going(), "was deleted"),
        (WORKER.refused(""), "failed: no container ran"),
        (
            WORKER.failed_before(137, "fetch", why="OOMKilled"),
            "failed with exit code 137 (OOMKilled) in init container fetch",
        ),
        (WORKER.failed_before(143, "fetch").disrupted(message="node is drained"), "was disrupted: node is drained"),
    ],
)
def test_the_words_complete_a_sentence(made: PodBuilder, words: str) -> None:
    """After "worker 0 …"."""
    found = verdict(made)
    assert found is not None
    assert found.text == words


def test_a_failure_is_dated_by_the_container() -> None:
    """Else by the pod's last sign of life, else by nothing: no pod's status may stop the loop."""
    assert verdict(WORKER.failed(137, at=-7)) == Failure(
        WORKER.replica, FailureClass.RETRYABLE, after(-7), "failed with exit code 137"
    )
    naked = msgspec.structs.replace(
        WORKER.refused("Lost").build(),
        metadata=msgspec.structs.replace(WORKER.build().metadata, creation_timestamp=None),
    )
    found = classify(WORKER.replica, naked, "tensorflow", role(), "Replica")
    assert found is not None
    assert found.when == LONG_AGO
    assert found.when + timedelta(days=1) < NOW


def test_a_sidecar_that_failed_speaks_where_the_main_container_did_not() -> None:
    """And the main container's own failure comes first."""
    made = WORKER.failed(0).build()
    sidecar = ContainerStatus(name="proxy", state=ContainerState(terminated=Terminated(exit_code=137)))
    for first, expected in ((0, FailureClass.RETRYABLE), (1, FailureClass.PERMANENT)):
        main = ContainerStatus(name="tensorflow", state=ContainerState(terminated=Terminated(exit_code=first)))
        status = msgspec.structs.replace(made.status, container_statuses=(sidecar, main))
        found = classify(WORKER.replica, msgspec.structs.replace(made, status=status), "tensorflow", role(), "Replica")
        assert found is not None
        assert found.cost is expected


@pytest.mark.parametrize(
    ("code", "policy", "scope", "expected"),
    [
        (137, "ExitCode", "Replica", FailureClass.RETRYABLE),
        (1, "ExitCode", "Replica", FailureClass.PERMANENT),
        (1, "OnFailure", "Job", FailureClass.RETRYABLE),
        (137, "Never", "Job", FailureClass.PERMANENT),
    ],
)
def test_an_init_container_is_judged_like_the_main_one(
    code: int, policy: RestartPolicy, scope: RestartScope, expected: FailureClass
) -> None:
    """And the words say where it was; the main container has not run then."""
    found = verdict(WORKER.failed_before(code, "fetch", at=-3), policy, scope)
    text = f"failed with exit code {code} in init container fetch"
    assert found == Failure(WORKER.replica, expected, after(-3), text)


def test_the_main_container_speaks_before_an_init_container() -> None:
    """A native sidecar is an init container too, and is killed when the pod ends."""
    failed = WORKER.failed(1).build()
    sidecar = WORKER.failed_before(137, "proxy").build().status.init_container_statuses
    status = msgspec.structs.replace(failed.status, init_container_statuses=sidecar)
    found = classify(WORKER.replica, msgspec.structs.replace(failed, status=status), "tensorflow", role(), "Replica")
    assert found is not None
    assert (found.cost, found.text) == (FailureClass.PERMANENT, "failed with exit code 1")
