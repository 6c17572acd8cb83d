"""The recorder as a command."""

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from kubedl.entrypoints import recorder
from kubedl.entrypoints.recorded_kinds import GRANTS, recorded_kinds
from kubedl.history.sink import Epoch
from kubedl.history.sinks.json_lines import JsonLines
from kubedl.kube import codec
from kubedl.schema.grants import LOGS, of_feature, outside, served
from kubedl.training.kinds import all_kinds
from tests.history.builders import NOW, job, job_row

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: a, user: {}}]
"""


@pytest.fixture(autouse=True)
def _log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the log of this process as it is: other tests read it."""
    monkeypatch.setattr("kubedl.entrypoints.recorder.configure_log", lambda *_: None)


def test_migrate_creates_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a second time."""
    monkeypatch.setenv("KUBEDL_HISTORY_DATABASE", f"sqlite:///{tmp_path / 'history.db'}")
    assert recorder.main(["migrate"]) == 0
    assert recorder.main(["migrate"]) == 0
    connection = sqlite3.connect(tmp_path / "history.db")
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert {"jobs", "job_bodies", "pods", "events", "receipts", "alembic_version"} <= names


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("", "no database: set KUBEDL_HISTORY_DATABASE"),
        ("oracle://ada:hidden@db/x", "oracle is none of the databases"),
        ("hidden", "is not a URL such as"),
    ],
)
def test_a_wrong_database_is_explained(
    url: str, complaint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without repeating it: it has a password."""
    monkeypatch.setenv("KUBEDL_HISTORY_DATABASE", url)
    assert recorder.main(["migrate"]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert "hidden" not in said


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["--sink", "carrier-pigeon"], "no sink 'carrier-pigeon'"), (["--price-book", "/nowhere"], "/nowhere")],
)
def test_wrong_settings_are_explained(
    arguments: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Before anything is recorded."""
    monkeypatch.setenv("KUBEDL_HISTORY_DATABASE", f"sqlite:///{tmp_path / 'history.db'}")
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    command = ["run", "--cluster", "a", "--kubeconfig", str(tmp_path / "kubeconfig"), *arguments]
    assert recorder.main(command) == 2
    assert complaint in capsys.readouterr().err


def test_a_database_without_tables_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process ends, and says which command is missing."""
    monkeypatch.setenv("KUBEDL_HISTORY_DATABASE", f"sqlite:///{tmp_path / 'history.db'}")
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    command = ["run", "--cluster", "a", "--kubeconfig", str(tmp_path / "kubeconfig")]
    assert recorder.main([*command, "--no-leader-election", "--address", "127.0.0.1:0"]) == 1
    assert "run `kubedl recorder migrate`" in capsys.readouterr().err


def test_a_recorder_without_election_says_that_it_leads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An alert is about an installation in which nobody does."""
    said: list[bool] = []
    monkeypatch.setattr("kubedl.entrypoints.recorder.Metrics.leading", lambda _, leads: said.append(leads))
    monkeypatch.setenv("KUBEDL_HISTORY_DATABASE", f"sqlite:///{tmp_path / 'history.db'}")
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    command = ["run", "--cluster", "a", "--kubeconfig", str(tmp_path / "kubeconfig")]
    assert recorder.main([*command, "--no-leader-election", "--address", "127.0.0.1:0"]) == 1  # there are no tables
    assert said == [True]


def test_every_kind_of_job_is_recorded() -> None:
    """There is no other list of kinds."""
    recorded = {kind.resource.name for kind in recorded_kinds()}
    assert {kind.resource.name for kind in all_kinds()} < recorded
    assert recorded - {kind.resource.name for kind in recorded_kinds(nodes=False)} == {"nodes"}


def test_it_may_only_read() -> None:
    """But for its Lease. Logs are read only if they are archived."""
    assert {verb for grant in served(GRANTS) + outside(GRANTS) for verb in grant.verbs} == {"list", "watch"}
    assert [(grant.resources, grant.verbs) for grant in of_feature(GRANTS, LOGS)] == [(("pods/log",), ("get",))]


async def test_json_lines_have_every_row(tmp_path: Path) -> None:
    """One object a line, with what the database has."""
    sink = JsonLines("prod", str(tmp_path / "rows.jsonl"))
    await sink.claim(Epoch())
    row = job_row(job(user="ada"), deleted=True, now=NOW + timedelta(hours=1))
    await sink.write([row, row])
    await sink.close()
    first, second = (tmp_path / "rows.jsonl").read_bytes().splitlines()
    assert first == second
    found = codec.decode(first, dict)
    assert (found["cluster"], found["table"], found["user_name"], found["state"]) == ("prod", "jobs", "ada", "Deleted")
    assert "canary" not in str(found)
