"""Which logs of a pod can be archived, and their keys."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kubedl.history.logs.container_run import ended_runs
from kubedl.history.observed_pods import RecordedPod
from tests.history.builders import decoded_pod, job, pod

NAMES = {"PyTorchJob": "pytorch"}
ENDED = {"terminated": {"exitCode": 1}}


def finished(policy: str = "Never", phase: str = "Running", **status: Any) -> RecordedPod:  # noqa: ANN401
    """A pod whose main container has this status, beside another container."""
    owner = job("bert", identity="job-uid")
    made = pod(owner, identity="pod-uid", phase=phase)
    made["spec"]["restartPolicy"] = policy
    made["status"]["containerStatuses"] = [
        {"name": "proxy", "state": ENDED},
        {"name": "pytorch", **status},
    ]
    return decoded_pod(made)


@pytest.mark.parametrize(
    ("status", "restarts"),
    [
        ({"state": {"running": {}}}, []),
        ({"state": ENDED}, [0]),
        ({"state": {"running": {}}, "restartCount": 2, "lastState": ENDED}, [1]),
        ({"state": ENDED, "restartCount": 2, "lastState": ENDED}, [1, 2]),
        ({"state": {"waiting": {}}, "restartCount": 1}, []),
    ],
)
def test_only_runs_that_ended_have_a_log(status: dict[str, Any], restarts: list[int]) -> None:
    """The last one, and the one before it; older ones the kubelet does not have."""
    assert [run.restart for run in ended_runs(finished(**status), NAMES)] == restarts


@pytest.mark.parametrize(
    ("policy", "phase", "code", "archived"),
    [
        ("Never", "Running", 1, True),
        ("OnFailure", "Running", 1, False),
        ("OnFailure", "Running", 0, True),
        ("Always", "Running", 0, False),
        ("OnFailure", "Failed", 1, True),
    ],
)
def test_a_run_that_may_have_a_successor_is_not_the_last(policy: str, phase: str, code: int, archived: bool) -> None:
    """The log of the next run would be taken for its own: the kubelet restarts before it tells."""
    seen = finished(policy, phase, state={"terminated": {"exitCode": code}}, restartCount=1)
    assert [run.restart for run in ended_runs(seen, NAMES)] == ([1] if archived else [])


def test_each_run_has_its_own_start() -> None:
    first, second = ({"terminated": {"startedAt": f"2026-11-18T0{hour}:00:00Z"}} for hour in (1, 2))
    runs = ended_runs(finished(state=second, lastState=first, restartCount=1), NAMES)
    assert [(run.restart, run.started) for run in runs] == [
        (number, datetime(2026, 11, 18, number + 1, tzinfo=UTC)) for number in (0, 1)
    ]


def test_the_key_names_the_run_and_nothing_else() -> None:
    """So that it is the same after every start, and never that of another pod of the same name."""
    [run] = ended_runs(finished(state=ENDED), NAMES)
    place = "prod/team-a/PyTorchJob/bert/job-uid/bert-worker-0/pod-uid/pytorch-0.log.gz"
    assert run.key("", "prod") == place
    assert run.key("/logs/", "prod") == f"logs/{place}"
    assert run.key("", "../prod/x").startswith("_prod_x/team-a/")


def test_no_owner_makes_a_key_that_a_storage_refuses() -> None:
    """S3 has 1024 bytes, and a log that is refused for ever would keep back all others."""
    owner = job("n" * 253, identity="u" * 999)
    owner["metadata"]["namespace"] = "n" * 63
    made = pod(owner, identity="00000000-0000-4000-8000-000000000000")
    made["metadata"]["name"] = "p" * 253
    made["metadata"]["ownerReferences"][0]["kind"] = "K" * 999
    made["spec"]["containers"][0]["name"] = "c" * 63
    made["spec"]["restartPolicy"] = "Never"
    made["status"]["containerStatuses"] = [{"name": "c" * 63, "state": ENDED, "restartCount": 2**31 - 1}]
    [run] = ended_runs(decoded_pod(made), NAMES)
    assert len(run.key("x" * 128, "c" * 63)) <= 1024


def test_an_unknown_kind_has_its_first_container() -> None:
    """Those of other packages too."""
    [run] = ended_runs(finished(state=ENDED), {})
    assert run.container == "pytorch"  # the first of the spec, whatever the order of the statuses


def test_a_pod_without_owner_has_no_job() -> None:
    """Nothing is archived."""
    made = pod(job())
    made["metadata"]["ownerReferences"] = []
    made["status"]["containerStatuses"][0]["state"] = ENDED
    assert ended_runs(decoded_pod(made), NAMES) == []
