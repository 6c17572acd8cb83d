"""`why` of jobs that were deleted, from a real database of the history."""

import asyncio
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kubedl.client import NotFound, TrainingClient, Unreachable
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.sink import Epoch
from kubedl.history.sinks.database import DatabaseSink
from kubedl.why import bundle, report
from kubedl.why.judging import judge
from kubedl.why.rules import ALL
from tests.history.builders import NOW, job, job_row, moment, pod, pod_row
from tests.history_file import tables
from tests.unit.cli.conftest import Run, run  # noqa: F401 - a fixture
from tests.unit.client.api_server import ApiServer

BEGAN, ENDED, DELETED = NOW - timedelta(hours=3), NOW - timedelta(hours=2), NOW - timedelta(hours=1)
Record = Callable[..., None]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """Writes a deleted job and its pods into the history."""
    file = tmp_path / "history.db"
    file.write_bytes(tables())
    url = f"sqlite:///{file}"
    monkeypatch.setenv("KUBEDL_HISTORY_DATABASE", url)

    def record(state: str, *conditions: dict[str, str], pods: Any = (), **spec: Any) -> None:  # noqa: ANN401
        finished: dict[str, Any] = {"completionTime": moment(ENDED)} if state in ("Succeeded", "Failed") else {}
        made = job("bert", namespace="team", state=state, created=BEGAN, conditions=list(conditions), **finished)
        made["spec"] |= spec
        made["metadata"]["deletionTimestamp"] = moment(DELETED)
        asyncio.run(_write(url, [made, *(_pod(made, *one) for one in pods)]))

    return record


async def _write(url: str, objects: list[dict[str, Any]]) -> None:
    engine = create_engine(parse_url(url))
    sink = DatabaseSink(engine, "kubedl")
    await sink.claim(Epoch("lease", 0, "me"))
    first, *pods = objects
    await sink.write([job_row(first, deleted=True), *(pod_row(one, deleted=True) for one in pods)])
    await engine.dispose()


def _pod(owner: dict[str, Any], index: int, code: int, ended: datetime, reason: str = "Error", attempt: int = 0) -> Any:  # noqa: ANN401
    made = pod(owner, index=index, phase="Failed")
    terminated = made["status"]["containerStatuses"][0]["state"]["terminated"]
    terminated |= {"exitCode": code, "reason": reason, "finishedAt": moment(ended)}
    made["metadata"]["labels"]["training.kubedl.io/attempt"] = str(attempt)
    made["metadata"]["name"] += f"-{attempt}"
    return made


def _condition(kind: str, reason: str = "", message: str = "") -> dict[str, str]:
    return {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": moment(ENDED)}


def test_the_first_death_counts_and_not_those_that_the_operator_ended(client: TrainingClient, record: Record) -> None:
    """Of the last attempt; pods that were deleted after the failure were killed, too."""
    earlier, later = ENDED - timedelta(minutes=9), ENDED + timedelta(seconds=4)
    pods = [(0, 137, earlier, "OOMKilled", 0), (0, 3, ENDED, "Error", 1), (1, 143, later, "Error", 1)]
    record("Failed", _condition("Failed", "ReplicaFailed", "worker 0 failed"), pods=pods)
    found = client.why("bert")
    assert found.rule == "run.exit"
    assert found.first.startswith("Failed: worker 0 failed first with exit code 3 ")
    said = dict(found.supporting)
    assert said["others"] == "1 other replica failed after it"
    assert said["besides"].startswith("It was deleted ")
    assert said["besides"].endswith("; it had failed.")
    assert [one.command for one in found.tries] == ["kubedl history get bert", "kubedl history logs bert"]


def test_a_kill_of_the_same_second_is_first(client: TrainingClient, record: Record) -> None:
    pods = [(0, 1, ENDED), (1, 137, ENDED + timedelta(milliseconds=300), "OOMKilled"), (2, 1, ENDED)]
    record("Failed", _condition("Failed"), pods=pods)
    found = client.why("bert")
    assert (found.rule, found.first.partition(" and was first; ")[2]) == ("run.oom", "2 others followed.")
    assert "worker 1 ran out of memory (4Gi)" in found.first


@pytest.mark.parametrize(
    ("reason", "message", "rule"),
    [
        ("DeadlineExceeded", "activeDeadlineSeconds (60) passed; 1 of 2 pods were ready", "end.deadline"),
        ("BackoffLimitExceeded", "backoffLimit (3) reached: bert-worker-0 failed with exit code 1", "end.retries"),
    ],
)
def test_how_the_operator_ended_it(
    client: TrainingClient, record: Record, reason: str, message: str, rule: str
) -> None:
    record("Failed", _condition("Failed", reason, message), pods=[(0, 1, ENDED)], activeDeadlineSeconds=60)
    assert client.why("bert").rule == rule


@pytest.mark.parametrize(
    ("state", "spec", "end"),
    [
        ("Succeeded", {}, "; it had succeeded."),
        (
            "Succeeded",
            {"ttlSecondsAfterFinished": 3600},
            " because its ttlSecondsAfterFinished had passed; it had succeeded.",
        ),
        ("Succeeded", {"ttlSecondsAfterFinished": 60}, "; it had succeeded."),
        ("Running", {}, "; it had not ended."),
    ],
)
def test_what_its_pods_say_is_that_they_were_deleted(
    client: TrainingClient, record: Record, state: str, spec: dict[str, Any], end: str
) -> None:
    """Pods of a job that succeeded or ran on were killed by its deletion."""
    record(state, _condition(state), pods=[(0, 143, DELETED)], **spec)
    found = client.why("bert")
    assert (found.rule, found.is_known) == ("end.gone", True)
    assert found.first.startswith("It was deleted ")
    assert found.first.partition(" ago")[2] == end


def test_a_bundle_of_it_gives_the_same_text(client: TrainingClient, record: Record) -> None:
    record("Failed", _condition("Failed"), pods=[(0, 1, ENDED)])
    evidence, live = client.explain("pytorch/bert")
    written = json.dumps(bundle.to_plain(evidence))
    assert "canary" not in written
    assert report.lines(judge(bundle.read(written.encode()), ALL)) == report.lines(live)
    assert report.remarks(live) == []


def test_a_job_that_nobody_knows(
    client: TrainingClient, api: ApiServer, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record("Failed", _condition("Failed"))
    with pytest.raises(NotFound, match="there is no job called clip"):
        client.why("clip")
    with pytest.raises(NotFound):
        client.why("tf/bert")  # of another kind
    with TrainingClient(namespace="team", server=api.url, use_history=False) as other, pytest.raises(NotFound):
        other.why("bert")
    monkeypatch.setenv("KUBEDL_HISTORY_DATABASE", f"sqlite:///{tmp_path / 'empty.db'}")
    with pytest.raises(Unreachable):
        client.why("bert")
    monkeypatch.delenv("KUBEDL_HISTORY_DATABASE")
    with pytest.raises(NotFound, match="there is no job called bert"):
        client.why("bert")


def test_the_command(run: Run, record: Record) -> None:  # noqa: F811
    record("Failed", _condition("Failed"), pods=[(0, 1, ENDED)])
    answer = run("why", "bert")
    assert answer.code == 0
    assert answer.out.startswith("Failed: worker 0 failed first with exit code 1 ")
    assert answer.err == ""
