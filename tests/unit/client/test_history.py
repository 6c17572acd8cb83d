"""`client.history` with a real database, in a file: both clients, and what is said where there is none."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kubedl.client import Invalid, KubedlError, NotFound, TrainingClient, Unreachable
from kubedl.client.history_database import HistoryDatabase
from kubedl.client.history_operations import HistoryOperations, here
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.receipts import Receipts
from kubedl.history.sink import Epoch
from kubedl.history.sinks.database import DatabaseSink
from tests.history.builders import job, job_row, moment, pod, pod_row
from tests.history_file import tables

CLUSTER = "test"
LONG_AGO = datetime.now(UTC) - timedelta(days=10)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A history with a job that runs, one that failed and was deleted, and one of another team."""
    file = tmp_path / "history.db"
    file.write_bytes(_filled())
    url = f"sqlite:///{file}"
    monkeypatch.setenv("KUBEDL_HISTORY_DATABASE", url)
    monkeypatch.setenv("KUBEDL_HISTORY_CLUSTER", CLUSTER)
    return url


@cache
def _filled() -> bytes:
    """Made once; every test has a copy."""
    with TemporaryDirectory() as directory:
        file = Path(directory, "history.db")
        file.write_bytes(tables())
        asyncio.run(_fill(f"sqlite:///{file}"))
        return file.read_bytes()


async def _fill(url: str) -> None:
    engine = create_engine(parse_url(url))
    sink = DatabaseSink(engine, CLUSTER)
    await sink.claim(Epoch("lease", 0, "me"))
    ended = moment(LONG_AGO + timedelta(minutes=9))
    gone = job("clip", namespace="team", state="Failed", created=LONG_AGO, completionTime=ended)
    rows = [job_row(job("bert", namespace="team", user="ada")), job_row(gone, deleted=True)]
    await sink.write([*rows, pod_row(pod(gone, phase="Failed"), deleted=True), job_row(job("vit", namespace="other"))])
    await Receipts(engine, CLUSTER).compute(gone["metadata"]["uid"])
    await engine.dispose()


@pytest.mark.usefixtures("database")
def test_jobs_of_the_past(client: TrainingClient) -> None:
    history = client.history
    assert history.is_known
    assert {one.name for one in history.list().jobs} == {"bert", "clip"}
    assert {one.name for one in history.list(all_namespaces=True).jobs} == {"bert", "clip", "vit"}
    assert [one.name for one in history.list(namespace="other").jobs] == ["vit"]
    assert [one.name for one in history.list(state="failed").jobs] == ["clip"]
    assert [one.name for one in history.list(user="ada", kind="PyTorchJob").jobs] == ["bert"]
    for since in (timedelta(days=1), LONG_AGO - timedelta(days=1)):
        names = {one.name for one in history.list(since=since, state="failed").jobs}
        assert names == ({"clip"} if isinstance(since, datetime) else set())
    first = history.list(limit=1)
    second = history.list(limit=1, after=first.next)
    assert {first.jobs[0].name, second.jobs[0].name} == {"bert", "clip"}


@pytest.mark.usefixtures("database")
def test_one_job_and_what_it_cost(client: TrainingClient) -> None:
    history = client.history
    detail = history.get("clip")
    assert (detail.job.state, detail.job.deleted is not None) == ("Failed", True)
    assert [(one.name, one.exit_code) for one in detail.pods] == [("clip-worker-0", 1)]
    assert history.receipt("clip").state == "Failed"
    assert [(one.role, one.log_location) for one in history.logs("clip")] == [("worker", None)]
    assert {one.group[0] for one in history.statistics(("namespace",), since=timedelta(days=366))} == {"team", "other"}
    with pytest.raises(NotFound, match="the history has no job called vit in team"):
        history.get("vit")
    with pytest.raises(NotFound, match="there is no receipt of bert yet"):
        history.receipt("bert")
    with pytest.raises(Invalid, match="the history cannot answer that"):
        history.statistics(("colour",))


def test_the_file_of_a_database_is_told_to_a_client(database: str, tmp_path: Path) -> None:
    """Other than the environment's, which has another cluster in it."""
    place = tmp_path / "address"
    place.write_text(f"{database}\n")
    known = HistoryOperations(here, HistoryDatabase(str(place), "elsewhere"), "team")
    assert known.is_known
    client = TrainingClient(namespace="team", server="http://127.0.0.1:1", history_database=HistoryDatabase(str(place)))
    with client:
        assert client.history.get("clip").job.name == "clip"
    client = TrainingClient(
        namespace="team", server="http://127.0.0.1:1", history_database=HistoryDatabase(str(place), "elsewhere")
    )
    with client, pytest.raises(NotFound):
        client.history.get("clip")


def test_no_history(client: TrainingClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEDL_HISTORY_DATABASE", raising=False)
    assert not client.history.is_known
    with pytest.raises(KubedlError, match="no history is known here") as found:
        client.history.list()
    assert found.value.next[0] == "set KUBEDL_HISTORY_DATABASE: docs/how-to/keep-history.md"


def test_a_history_that_does_not_answer(
    client: TrainingClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new file has no tables; a job that is not found stays so, whatever the history says."""
    monkeypatch.setenv("KUBEDL_HISTORY_DATABASE", f"sqlite:///{tmp_path / 'new.db'}")
    with pytest.raises(Unreachable, match="the database of the history does not answer"):
        client.history.list()
    with pytest.raises(NotFound, match="there is no job called clip in team"):
        client.get_job("clip")
