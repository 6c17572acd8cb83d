"""Ten thousand jobs, and millions of deleted ones, in Chromium: `python -m proofs.console.list`.

The jobs are objects of a real API server, the deleted ones rows of a real PostgreSQL; a person who may list everything
looks at them. Work of the browser's main thread is counted in its own processor time, waiting by the clock. The last
line is JSON.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.environment import say
from harness.drivers import console_objects
from harness.drivers.api_connection import MERGE_PATCH, Connection
from harness.drivers.console_browser import run_script
from harness.drivers.console_objects import EVERYTHING, TRAINING
from harness.drivers.console_process import ConsoleProcess, rights_everywhere, token_of
from harness.drivers.databases import Database, Postgres
from harness.drivers.environment import times
from kubedl.console.history_reader import PAGE
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.queries.jobs import JobFilter, list_jobs
from proofs.history import generated_jobs
from testbed import cluster_lock, namespaces
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "console" / "browser" / "list.mjs"
JOBS, ROUNDS = times(1000, 10_000), times(5, 100)
ROWS, FAR = times(20_000, 5_000_000), times(100, 1000)
TEAMS = 20
STATES = ("Queuing", "Running", "Running", "Succeeded", "Succeeded", "Failed")
PATIENCE = 3600.0  # seconds


def main() -> int:
    """Print the figures."""
    with (
        Postgres("fsync=off", "shared_buffers=1GB", "max_wal_size=8GB") as database,
        cluster_lock.borrowed(Cluster(chosen_index(), report=say)) as cluster,
        cluster_lock.turn(cluster, alone=True),
        Connection(cluster) as connection,
        namespaces.fresh(cluster.api, "list") as namespace,
        rights_everywhere(cluster, namespace, "ada", *EVERYTHING),
        tempfile.TemporaryDirectory(prefix="kubedl-console-list-") as directory,
    ):
        console_objects.define(cluster)
        far = asyncio.run(history(database))
        fill(connection, namespace)
        arguments = (f"--history-cluster={generated_jobs.CLUSTER}",)
        with ConsoleProcess(cluster, Path(directory), *arguments, history=database.url()) as console:
            token = token_of(cluster, namespace, "ada")
            until("all jobs", lambda: len(console.get("/api/v1/jobs", token).json()["rows"]) == JOBS, deadline=120)
            found = looked(console, token, {"jobs": JOBS, "rounds": ROUNDS, "far": far})
    for error in found["errors"]:
        print(error, file=sys.stderr)
    print(json.dumps({"jobs": JOBS, "rows": ROWS, "errors": len(found["errors"]), **found["figures"]}))
    return 0


async def history(database: Database) -> str:
    """Fill the history; returns where the page before the far one begins."""
    say(f"{ROWS} rows of the history")
    url = parse_url(database.url())
    await generated_jobs.generate(url, ROWS)
    engine, cursor = create_engine(url), ""
    try:
        async with engine.connect() as connection:
            for _ in range(FAR - 2):
                page = await list_jobs(connection, generated_jobs.CLUSTER, JobFilter(deleted=True), cursor, PAGE)
                cursor = page.next
    finally:
        await engine.dispose()
    return cursor


def fill(connection: Connection, namespace: str) -> None:
    """Create jobs of all states, most of them with a message."""
    say(f"{JOBS} jobs")
    path = f"/apis/{TRAINING}/v1alpha1/namespaces/{namespace}/pytorchjobs"
    head = {"apiVersion": f"{TRAINING}/v1alpha1", "kind": "PyTorchJob"}

    async def create(number: int) -> None:
        name = f"job-{number}-of-team-{number % TEAMS}"
        metadata = {"name": name, "annotations": {"kubedl.io/user": f"user-{number % 7}"}}
        await connection.call("POST", path, {**head, "metadata": metadata, "spec": _spec(number)})
        await connection.call("PATCH", f"{path}/{name}/status", {"status": _status(number)}, MERGE_PATCH)

    connection.each(range(JOBS), create)


def _spec(number: int) -> Object:
    container = {"name": "pytorch", "image": "train:1"}
    role = {"replicas": 1 + number % 8, "template": {"spec": {"containers": [container]}}}
    return {"pytorchReplicaSpecs": {"Worker": role}}


def _status(number: int) -> Object:
    state = STATES[number % len(STATES)]
    said = f"job {number} waits: no node has 8 free GPUs; the largest free block is {number % 8}"
    return {"state": state, "message": said if state in ("Queuing", "Failed") else ""}


def looked(console: ConsoleProcess, token: str, order: dict[str, object]) -> Any:  # noqa: ANN401 - decoded JSON
    """What the browser measured."""
    return json.loads(run_script(SCRIPT, order, console, token, PATIENCE))


if __name__ == "__main__":
    sys.exit(main())
