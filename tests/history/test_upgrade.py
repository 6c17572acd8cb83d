"""An upgrade of the database while an older version writes to it."""

import asyncio
import itertools
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path

import pytest
from alembic.config import Config
from prometheus_client import CollectorRegistry
from sqlalchemy import text

from harness.drivers.databases import Database
from kubedl.history import migrate
from kubedl.history.engine import ENVIRONMENT, create_engine, parse_url
from kubedl.history.pending import Pending
from kubedl.history.queries.scope import Scope
from kubedl.history.queries.spend import spend, waste
from kubedl.history.recorder_metrics import RecorderMetrics
from kubedl.history.sink import Epoch
from kubedl.history.sinks.database import DatabaseSink
from kubedl.history.writer import Writer
from tests.history.builders import job, job_row, uid
from tests.history.test_faults import DEADLINE, states, wait_for, writing

SOURCES = Path(__file__).parents[2] / "src"
FIRST = "0001"
LAST = 1_000_000  # a version after all others
USED = dict.fromkeys(("cpu_seconds", "memory_gib_seconds", "gpu_seconds", "cost_micros"), 3600)
DAYS = ("2026-11-17", "2026-11-18")
LINE = {"cluster": "upgraded", "pool": "", "spot": False, "namespace": "team", "user_name": "", "currency": "", **USED}
RECEIPT = {
    **{name: value for name, value in LINE.items() if name not in {"pool", "spot"}},
    **dict.fromkeys(("created", "finished", "computed"), "2026-11-17 10:00:00"),
    **dict.fromkeys(("running_seconds", "waiting_seconds", "restarted_seconds", "lost_seconds"), 7),
    "kind": "TFJob",
    "name": "a",
    "state": "Succeeded",
    "price_book": "",
}
CLUSTER = "upgraded"
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: none
contexts: [{name: none, context: {cluster: none, user: none}}]
clusters: [{name: none, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: none, user: {}}]
"""


@pytest.fixture
def first_version(tmp_path: Path) -> Path:
    """The sources of a version that knows the first tables only."""
    return version_with(tmp_path, FIRST)


def version_with(directory: Path, newest: str) -> Path:
    """Return the sources of a version that knows no later migrations."""
    copied = directory / "src" / "kubedl"
    shutil.copytree(SOURCES / "kubedl", copied, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (copied / "history" / "migrations" / "versions").glob("*.py"):
        if file.name[: len(newest)] > newest:
            file.unlink()
    return directory / "src"


def recorder(sources: Path, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `kubedl recorder` of a version to its end."""
    environment = {**os.environ, "PYTHONPATH": str(sources), ENVIRONMENT: url}
    command = [sys.executable, "-m", "kubedl.entrypoints.recorder", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


async def test_tables_are_migrated_under_load(
    real_server: Database, first_version: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No row is lost or changed; the older version stops at its next write and says why; the newer one continues."""
    url = await asyncio.to_thread(real_server.create, f"old_{uid()[-6:]}")
    assert (await asyncio.to_thread(recorder, first_version, url, "migrate")).returncode == 0
    engine = create_engine(parse_url(url))
    made = [(f"job-{number}", uid()) for number in range(3000)]
    pending = Pending()
    with monkeypatch.context() as older:
        older.setattr(migrate, "_config", lambda: _config(first_version))
        assert migrate.newest_revision() == FIRST
        writer = Writer(DatabaseSink(engine, CLUSTER), pending, RecorderMetrics(CollectorRegistry()), batch=20)
        writing_on = asyncio.ensure_future(writer.run(Epoch("lease", 0, "older")))
        migration = asyncio.ensure_future(asyncio.to_thread(recorder, SOURCES, url, "migrate"))
        async with asyncio.timeout(DEADLINE):
            for version in itertools.count(1):
                for name, identity in made[(version - 1) * 20 % len(made) :][:20]:
                    pending.add(job_row(job(name, identity=identity, version=version)))
                await asyncio.sleep(0.02)
                if writing_on.done():
                    break
        with pytest.raises(migrate.SchemaError, match=f"newer than this version of KubeDL, which knows up to {FIRST}"):
            await writing_on
        assert (await migration).returncode == 0
    await migrate.check(engine)
    before = await states(engine, CLUSTER)
    assert before  # it wrote before, and beside the migration
    assert len({name for name, _ in before}) == len(before)
    arguments = ("run", "--cluster", CLUSTER, "--no-leader-election", "--address", "127.0.0.1:0")
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    refused = await asyncio.to_thread(
        recorder, first_version, url, *arguments, "--kubeconfig", str(tmp_path / "kubeconfig")
    )
    assert refused.returncode == 1
    assert "use the version that migrated it" in refused.stderr
    async with writing(engine, CLUSTER) as continued:  # the newer version lists everything again
        for name, identity in made:
            continued.add(job_row(job(name, identity=identity, version=LAST)))
        await wait_for(engine, CLUSTER, sorted((name, LAST) for name, _ in made))
    with suppress(Exception):
        await engine.dispose()


async def test_lines_of_receipts_get_kind_and_queue(real_server: Database, tmp_path: Path) -> None:
    """Those that were written before lines had them are in what a team with some kinds may see."""
    url = await asyncio.to_thread(real_server.create, f"old_{uid()[-6:]}")
    sources = version_with(tmp_path, "0003")
    assert (await asyncio.to_thread(recorder, sources, url, "migrate")).returncode == 0
    engine = create_engine(parse_url(url))
    made = {name: uid() for name in ("one", "two")}
    async with engine.begin() as connection:
        for name, identity in made.items():
            await connection.execute(text(_insert("receipts", {**RECEIPT, "uid": identity, "queue": f"q-{name}"})))
            for used in DAYS:
                await connection.execute(text(_insert("receipt_lines", {**LINE, "uid": identity, "day": used})))
    for _ in range(2):  # again is as once
        assert (await asyncio.to_thread(recorder, SOURCES, url, "migrate")).returncode == 0
    day, scope = date(2026, 11, 17), Scope({"TFJob": None})
    async with engine.connect() as connection:
        spent = await spend(connection, CLUSTER, ["queue", "day"], day, day + timedelta(days=1), scope=scope)
        assert await spend(connection, CLUSTER, ["queue"], day, day, scope=Scope({"PyTorchJob": None})) == ()
        [lost] = await waste(connection, CLUSTER, day, day, scope=scope)
    assert [row.group for row in spent] == [(f"q-{name}", one) for name in made for one in DAYS]
    assert (lost.jobs, lost.waiting_seconds) == (2, 2 * 7)
    await engine.dispose()


def _insert(table: str, row: dict[str, object]) -> str:
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(map(repr, row.values()))})"  # noqa: S608


def _config(sources: Path) -> Config:
    config = Config()
    config.set_main_option("script_location", str(sources / "kubedl" / "history" / "migrations"))
    return config
