"""`kubedl history`: deleted jobs are still there. CI draws the database; other tests try its queries on each."""

import asyncio
import gzip
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from kubedl.history.logs.container_run import ended_runs
from kubedl.history.logs.log_archive import StoredLog
from kubedl.history.logs.log_records import LogRecords
from kubedl.history.sink import Epoch
from kubedl.history.sinks.database import DatabaseSink
from tests import sampling
from tests.history.builders import decoded_pod, job, job_row, pod, pod_row
from tests.history.conftest import DATABASES
from tests.unit.client.api_server import ApiServer, serving

ROOT = Path(__file__).parents[2]
DRAWN = sampling.one_of(DATABASES, "kubedl history")
pytestmark = pytest.mark.parametrize("server", DRAWN, indirect=True, scope="session")


async def test_deleted_jobs_are_listed_and_shown(engine: AsyncEngine, database_url: str, cluster: str) -> None:
    sink = DatabaseSink(engine, cluster)
    await sink.claim(Epoch("lease", 0, "me"))
    kept, gone = job("bert", namespace="team-a", user="ada"), job("clip", namespace="team-a", state="Failed")
    await sink.write([job_row(kept), job_row(gone, deleted=True), pod_row(pod(gone))])

    listed = await _history(database_url, cluster, "list")
    assert listed.returncode == 0, listed.stderr
    rows = {line.split()[0]: line for line in listed.stdout.splitlines()[1:]}
    assert set(rows) == {"bert", "clip"}
    assert "deleted" in rows["clip"]
    assert "deleted" not in rows["bert"]
    assert (
        (await _history(database_url, cluster, "list", "--state", "failed")).stdout.splitlines()[1].startswith("clip")
    )
    shown = (await _history(database_url, cluster, "get", "clip")).stdout
    assert shown.startswith("clip  PyTorchJob in team-a  Failed  created ")
    assert "worker-0" in shown
    counted = await _history(database_url, cluster, "stats", "--per", "state", "--since", "300d")
    assert counted.returncode == 0, counted.stderr
    long = await _history(database_url, cluster, "stats", "--since", "3650d")
    assert (long.returncode, long.stderr.splitlines()[0]) == (1, "error: the history cannot answer that")


async def test_a_list_with_jobs_that_are_gone(engine: AsyncEngine, database_url: str, cluster: str) -> None:
    sink = DatabaseSink(engine, cluster)
    await sink.claim(Epoch("lease", 0, "me"))
    gone = job("clip", namespace="team-a", state="Failed", user="ada")
    await sink.write([job_row(job("bert", namespace="team-a")), job_row(gone, deleted=True)])
    with serving(ApiServer()) as api:
        api.job("bert", namespace="team-a", status={"state": "Running", "ready": "1/1"})

        async def rows(*words: str) -> dict[str, list[str]]:
            done = await _kubedl(database_url, cluster, "list", "--server", api.url, "--no-headers", *words)
            assert done.returncode == 0, done.stderr
            return {line.split()[0]: line.split()[1:4] for line in done.stdout.splitlines()}

        both = {"bert": ["pytorch", "Running", "1/1"], "clip": ["pytorch", "Failed", "gone"]}
        assert await rows("--history") == both
        assert await rows("--history", "-T", "pytorch", "--state", "failed,queuing") == {"clip": both["clip"]}
        assert await rows("--history", "--by", "ada") == {"clip": both["clip"]}
        assert await rows("--history", "-T", "tf") == {}
        assert await rows() == {"bert": both["bert"]}


async def test_logs_of_pods_that_are_gone(engine: AsyncEngine, database_url: str, cluster: str) -> None:
    """Of each replica's last attempt, from the storage; what is not archived is said."""
    sink, records = DatabaseSink(engine, cluster), LogRecords(engine, cluster)
    await sink.claim(Epoch("lease", 0, "me"))
    gone = job("clip", namespace="team-a", state="Failed")
    stored, lost = pod(gone, phase="Failed"), pod(gone, index=1, phase="Failed")
    await sink.write([job_row(gone, deleted=True), pod_row(stored, deleted=True), pod_row(lost, deleted=True)])
    nothing = await _history(database_url, cluster, "logs", "clip")
    assert (nothing.returncode, nothing.stderr.splitlines()[0]) == (1, "error: no log of clip is archived")
    [run] = ended_runs(decoded_pod(stored), {})
    await records.record(run, StoredLog("s3://logs/a.gz", 0, cut=False))

    where = await _history(database_url, cluster, "logs", "clip", "--locations")
    assert where.stdout == "worker-0  s3://logs/a.gz\n"
    unknown = await _history(database_url, cluster, "logs", "clip")
    assert (unknown.returncode, unknown.stderr.splitlines()[-1]) == (
        2,
        "  next  --endpoint URL, or kubedl config set logs-endpoint URL",
    )
    with _storage({"/logs/a.gz": gzip.compress(b"epoch 1\nepoch 2\n")}) as endpoint:
        read = await _history(database_url, cluster, "logs", "clip", "--endpoint", endpoint)
        assert read.stdout == "[worker-0] epoch 1\n[worker-0] epoch 2\n", read.stderr
        assert read.stderr == "-- no log of worker-1 (attempt 0) is archived --\n"
        one = await _history(database_url, cluster, "logs", "clip", "-i", "worker-1", "--endpoint", endpoint)
        assert one.returncode == 1
    with _storage({}) as endpoint:
        deleted = await _history(database_url, cluster, "logs", "clip", "--endpoint", endpoint)
        assert deleted.stderr.startswith("error: the log of worker-0 is not in the storage any more\n")


@contextmanager
def _storage(objects: dict[str, bytes]) -> Iterator[str]:
    """Serve objects of a bucket; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            self.send_response(200 if self.path in objects else 404)
            self.end_headers()
            self.wfile.write(objects.get(self.path, b""))

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_what_is_not_there(database_url: str, cluster: str) -> None:
    missing = await _history(database_url, cluster, "get", "nothing")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr.startswith("error: the history has no job called nothing in team-a\n")
    assert (await _history(database_url, cluster, "list")).stderr == "the history has no such jobs\n"


async def _history(url: str, cluster: str, *words: str) -> subprocess.CompletedProcess[str]:
    return await _kubedl(url, cluster, "history", *words)


async def _kubedl(url: str, cluster: str, *words: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "kubedl.entrypoints.command", "-n", "team-a", *words],
        env={
            "PYTHONPATH": str(ROOT / "src"),
            "KUBEDL_HISTORY_DATABASE": url,
            "KUBEDL_HISTORY_CLUSTER": cluster,
            "PATH": "/usr/bin:/bin",
            "XDG_CACHE_HOME": "/nonexistent",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
        },
        capture_output=True,
        text=True,
        check=False,
    )
