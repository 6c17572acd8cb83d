"""`kubedl prune`: what ended long ago, and code that nobody uses."""

import json
from typing import Any

import click
import pytest

from tests.unit.cli.conftest import Run, ago
from tests.unit.client.api_server import GROUP, ApiServer

FILES = "/api/v1/namespaces/team/configmaps"


def _ended(state: str = "Succeeded", **passed: float) -> dict[str, Any]:
    return {"state": state, "conditions": [{"type": state, "status": "True"}], "completionTime": ago(**passed)}


def _files(api: ApiServer, name: str, owner: bool = False, **passed: float) -> None:
    metadata: dict[str, Any] = {"labels": {"kubedl.io/files": "code"}, "creationTimestamp": ago(**passed)}
    if owner:
        metadata["ownerReferences"] = [{"uid": "x"}]
    api.put(f"{FILES}/{name}", {"metadata": metadata})


@pytest.fixture
def full(api: ApiServer) -> ApiServer:
    """Jobs and files of which some can go."""
    api.job("old", status=_ended(days=9))
    api.job("failed", "tfjobs", status=_ended("Failed", days=8))
    api.job("recent", status=_ended(days=6))
    api.job("runs", status={"state": "Running"}, metadata={"creationTimestamp": ago(days=99)})
    api.job("nightly-1", status=_ended(days=30), metadata={"ownerReferences": [{"kind": "Cron", "controller": True}]})
    mounted = {"volumes": [{"name": "kubedl-files", "configMap": {"name": "used"}}]}
    api.job("mounts", spec={"pytorchReplicaSpecs": {"Master": {"template": {"spec": mounted}}}})
    _files(api, "lost", days=2)
    _files(api, "used", days=2)
    _files(api, "owned", owner=True, days=2)
    _files(api, "fresh", minutes=5)
    api.put(f"{FILES}/settings", {"metadata": {"creationTimestamp": ago(days=9)}})
    return api


def test_what_would_go(run: Run, full: ApiServer) -> None:
    answer = run("prune", "--dry-run")
    assert [line.split()[0] for line in answer.out.splitlines()[1:]] == [
        "pytorchjob/old",
        "tfjob/failed",
        "configmap/lost",
    ]
    assert not [call for call in full.calls if call.method == "DELETE"]
    shown = json.loads(run("prune", "--dry-run", "-o", "json", "--older-than", "5d").out)
    assert [one["name"] for one in shown["items"]] == ["old", "failed", "recent", "lost"]
    assert run("prune", "--dry-run", "-o", "name", "--state", "failed").out == "tfjob/failed\nconfigmap/lost\n"


def test_files_are_left_alone_when_jobs_are_chosen(run: Run, full: ApiServer) -> None:
    full.job("old", status=_ended(days=9), metadata={"labels": {"team": "a"}})
    assert run("prune", "-l", "team=a", "--dry-run", "-o", "name").out == "pytorchjob/old\n"


def test_it_asks(run: Run, full: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = run("prune")
    assert (refused.code, refused.err) == (
        2,
        "error: 2 jobs and code of 1 job would be deleted\n  next  add -y, or --dry-run to see them\n",
    )
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr(click, "confirm", _no)
    assert run("prune").code == 130
    assert not [call for call in full.calls if call.method == "DELETE"]


def _no(*_: object, **__: object) -> None:
    raise click.Abort


def test_only_what_was_found_is_deleted(run: Run, full: ApiServer) -> None:
    """A newer job of the same name has another uid, and the server refuses."""
    full.refusals[f"DELETE {GROUP}/namespaces/team/tfjobs/failed"] = (
        409,
        {"kind": "Status", "reason": "Conflict", "code": 409, "message": "the UID in the precondition"},
    )
    answer = run("prune", "-y")
    assert (answer.code, answer.out) == (0, "pytorchjob/old deleted from team\nconfigmap/lost deleted from team\n")
    sent = [call.body["preconditions"]["uid"] for call in full.calls if call.method == "DELETE"]
    assert sent == ["uid-old", "uid-failed", "uid-lost"]


def test_nothing_to_delete(run: Run, api: ApiServer) -> None:
    api.job("runs")
    answer = run("prune", "-y")
    assert (answer.code, answer.out, answer.err) == (0, "", "nothing to delete in team\n")


def test_files_that_may_not_be_listed(run: Run, full: ApiServer) -> None:
    full.refusals[f"GET {FILES}"] = (403, {"kind": "Status", "reason": "Forbidden", "code": 403, "message": "no"})
    answer = run("prune", "--dry-run", "-o", "name")
    assert answer.out == "pytorchjob/old\ntfjob/failed\n"
