"""`kubedl why`: what it asks of the server, what it prints, and that secrets do not leave."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.conftest import Run, ago
from tests.unit.client.api_server import ApiServer, ended

KEY = "hunter2"
NO_ROOM = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: none."


def _condition(kind: str, status: str, reason: str, message: str) -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": ago(minutes=2)}


@pytest.fixture
def waiting(api: ApiServer) -> ApiServer:
    """A job that no node takes, whose template has a secret."""
    container = {"name": "pytorch", "env": [{"name": "KEY", "value": KEY}], "args": [f"--key={KEY}"]}
    roles = {"Worker": {"replicas": 1, "template": {"spec": {"containers": [container]}}}}
    said = [_condition("Created", "True", "JobCreated", ""), _condition("PodsReady", "False", "Unschedulable", NO_ROOM)]
    annotations = {"other.example/note": KEY, "kubedl.io/user": "alice"}
    api.job(
        "bert",
        spec={"pytorchReplicaSpecs": roles},
        status={"state": "Created", "ready": "0/1", "conditions": said},
        metadata={"annotations": annotations},
    )
    path = api.pod("bert", "worker", 0, phase="Pending", conditions=[_condition("PodScheduled", "False", "x", NO_ROOM)])
    pod = api.objects[path]
    pod["spec"] = {"containers": [{**container, "resources": {"limits": {"nvidia.com/gpu": "8"}}}]}
    return api


def test_the_first_line_is_the_answer(waiting: ApiServer, run: Run) -> None:
    answer = run("why", "bert")
    assert answer.code == 0
    assert answer.out.splitlines()[0] == "No node has 8 GPUs free."  # nodes are not there to be read
    assert "  scheduler" in answer.out
    assert "\n  now " in answer.out
    asked = [call.path for call in waiting.calls if call.method == "GET"]
    assert len(asked) <= 12


def test_what_may_not_be_read_is_named(waiting: ApiServer, run: Run) -> None:
    words = 'nodes is forbidden: User "alice" cannot list resource "nodes"'
    waiting.refusals["GET /api/v1/nodes"] = (
        403,
        {"kind": "Status", "reason": "Forbidden", "code": 403, "message": words},
    )
    answer = run("why", "bert")
    assert answer.code == 0
    assert answer.err == f"nodes: not allowed ({words}), so fit is not checked\n"


def test_events_that_may_not_be_read_do_not_end_it(waiting: ApiServer, run: Run) -> None:
    for kind in ("events", "pods"):
        refusal = (403, {"kind": "Status", "reason": "Forbidden", "code": 403, "message": "no"})
        waiting.refusals[f"GET /api/v1/namespaces/team/{kind}"] = refusal
    answer = run("why", "bert")
    assert (answer.code, answer.out.splitlines()[0]) == (0, f"It waits: {NO_ROOM}")
    assert "pods: not allowed (no), so the pods are not known\n" in answer.err


def test_a_cause_that_no_rule_knows(api: ApiServer, run: Run) -> None:
    api.job("bert", status={"state": "Created", "conditions": [_condition("Created", "True", "JobCreated", "")]})
    answer = run("why", "bert")
    assert answer.code == 3
    assert answer.out.startswith("I cannot tell why bert is as it is (Created).\n  now ")


def test_evidence_has_no_secrets_and_gives_the_same_text(waiting: ApiServer, run: Run, tmp_path: Path) -> None:
    live = run("why", "bert")
    written = run("why", "bert", "-o", "evidence")
    assert written.code == 0
    assert KEY not in written.out
    bundle = json.loads(written.out)
    assert bundle["object"]["metadata"]["annotations"] == {"kubedl.io/user": "alice"}
    file = tmp_path / "evidence.json"
    file.write_text(written.out)
    requests = len(waiting.calls)
    again = run("why", "--evidence", str(file))
    assert len(waiting.calls) == requests
    assert (again.out, again.err) == (live.out, live.err)


def test_output_for_programs(waiting: ApiServer, run: Run) -> None:
    found = json.loads(run("why", "pytorch/bert", "-o", "json").out)
    assert (found["kind"], found["rule"], found["sure"], found["known"]) == (
        "Diagnosis",
        "fit.gpu-shortage",
        "certain",
        True,
    )
    assert found["submittedBy"] == {"user": "alice", "client": ""}
    assert found["object"] == {"kind": "PyTorchJob", "namespace": "team", "name": "bert"}


def test_a_pod_means_its_job(waiting: ApiServer, run: Run) -> None:
    assert run("why", "bert-worker-0").out == run("why", "bert").out


def test_logs_are_read_after_a_failure(api: ApiServer, run: Run) -> None:
    failure = {
        "role": "Worker",
        "index": 0,
        "pod": "bert-worker-0",
        "exitCode": 1,
        "reason": "Error",
        "time": ago(minutes=1),
    }
    said = [_condition("Created", "True", "", ""), _condition("Failed", "True", "ReplicaFailed", "failed")]
    api.job("bert", status={"state": "Failed", "conditions": said, "lastFailure": failure})
    api.pod("bert", "worker", 0, **ended(1))
    api.logs["bert-worker-0"] = [
        "2026-01-01T00:00:00Z step\n2026-01-01T00:00:01Z CUDA out of memory. Tried to allocate 2 GiB\n"
    ]
    assert run("why", "bert").out.startswith("Probably: Failed: The GPU of worker 0 is full: 2 GiB more were wanted.\n")


def test_other_kinds(api: ApiServer, run: Run) -> None:
    status = {"conditions": [_condition("Ready", "False", "TagConflict", "tag v1 names another image")]}
    path = "/apis/model.kubedl.io/v1alpha1/namespaces/team/modelversions/bert-v1"
    api.put(path, {"spec": {"imageRepo": "r.example/bert", "imageTag": "v1"}, "status": status})
    for name in ("modelversion/bert-v1", "mv/bert-v1", "bert-v1"):
        assert run("why", name).out.startswith("Tag v1 of r.example/bert is another image already"), name
    missing = run("why", "cron/none")
    assert (missing.code, missing.err.splitlines()[0]) == (1, "error: there is no Cron called none in team")


def test_kinds_that_may_not_be_read_are_passed_over(api: ApiServer, run: Run) -> None:
    """Of somebody who may read some kinds only."""
    path = "/apis/model.kubedl.io/v1alpha1/namespaces/team/modelversions/bert-v1"
    status = {"conditions": [_condition("Ready", "False", "TagConflict", "tag v1 names another image")]}
    api.put(path, {"spec": {"imageRepo": "r.example/bert", "imageTag": "v1"}, "status": status})
    for name in ("bert-v1", "none"):
        refused = f"GET /apis/serving.kubedl.io/v1alpha1/namespaces/team/inferences/{name}"
        api.refusals[refused] = (403, {"kind": "Status", "reason": "Forbidden", "code": 403, "message": "no"})
    assert run("why", "bert-v1").out.startswith("Tag v1 of r.example/bert is another image already")
    assert run("why", "none").err.startswith("error: there is no job called none in team\n")


@pytest.mark.parametrize("words", [[], ["bert", "--evidence", "FILE"]])
def test_wrong_use(run: Run, words: list[str], tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("{}")
    answer = run("why", *[word.replace("FILE", str(file)) for word in words])
    assert (answer.code, answer.out) == (2, "")


def test_a_file_that_is_no_evidence(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    for text in ("", "[]", "{}", '{"kind": "Evidence"}', "\0"):
        file.write_text(text)
        answer = run("why", "--evidence", str(file))
        assert answer.code == 2
        assert "is no evidence" in answer.err
