"""A recorder that is killed at random moments while jobs change: `python -m proofs.history.recorder_kills`.

A real API server, a real PostgreSQL, and `kubedl recorder` as a process. While jobs are created, change and disappear,
the recorder is killed with SIGKILL, at any moment from its start to some seconds later, and started again, fifty times.
A last one is left alone; then each existing job must have one open row with its state, each other row must be closed.
A job that was created and deleted between two recorders has no row, and need not have one. The last line is JSON.
"""

import asyncio
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, Self

from sqlalchemy import select

from harness.drivers.databases import SERVERS, create_tables
from harness.drivers.operator_process import install_custom_resources
from harness.drivers.recorder_process import Recorder
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.tables import jobs
from proofs.seed import seed
from testbed import cluster_lock, namespaces
from testbed.api import Api, Object
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until

KILLS = 50 if os.environ.get("PROOF_SIZE", "full") == "full" else 3
LONGEST_LIFE = 5.0  # seconds of a recorder, of which its start takes some
BETWEEN_CHANGES = 0.05
ALIVE = 40  # jobs at a time
STATES = ("Created", "Running", "Succeeded", "Failed")
CLOSED = {"Succeeded", "Failed", "Deleted", "Lost"}


class Users:
    """Jobs that come, change and go, in a thread of its own."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._path = f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/pytorchjobs"
        self._dice = random.Random(seed())  # noqa: S311 - no secret
        self._names: list[str] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._failure: BaseException | None = None
        self.number = 0  # of jobs that were made

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def truth(self) -> dict[str, str]:
        """The jobs that exist: uid to state."""
        return {job["metadata"]["uid"]: job.get("status", {}).get("state", "") for job in self._api.list(self._path)}

    def _work(self) -> None:
        try:
            while not self._stopped.wait(BETWEEN_CHANGES):
                self._change()
        except BaseException as error:  # noqa: BLE001 - raised again by the main thread
            self._failure = error

    def _change(self) -> None:
        if len(self._names) < ALIVE and self._dice.random() < 0.4:
            self.number += 1
            self._names.append(f"job-{self.number}")
            self._api.create(self._path, _job(self._names[-1]))
        elif self._names and self._dice.random() < 0.3:
            name = self._names.pop(self._dice.randrange(len(self._names)))
            self._api.delete(f"{self._path}/{name}")
        elif self._names:
            name = self._dice.choice(self._names)
            job = self._api.get(f"{self._path}/{name}")
            status = {"state": self._dice.choice(STATES), "startTime": "2026-11-17T12:00:00Z"}
            self._api.call("PUT", f"{self._path}/{name}/status", {**job, "status": status})


def main() -> int:
    """Kill, start again, compare."""
    with (
        cluster_lock.borrowed(Cluster(chosen_index())) as cluster,
        namespaces.fresh(cluster.api, "kills") as namespace,
        SERVERS["postgresql"]() as database,
        tempfile.TemporaryDirectory() as directory,
    ):
        install_custom_resources(cluster)
        url = database.url()
        create_tables(url)
        scope = ("--namespace", namespace, "--no-leader-election")
        recorder = Recorder(cluster, url, Path(directory), *scope)
        dice = random.Random(f"kills {seed()}")  # noqa: S311 - no secret
        with Users(cluster.api, namespace) as users:
            for _ in range(KILLS):
                recorder.start()
                time.sleep(dice.uniform(0, LONGEST_LIFE))
                recorder.kill()
        with recorder:
            truth = users.truth()
            until("the rows to settle", lambda: not _wrong(asyncio.run(_rows(url)), truth), deadline=120, interval=1)
            rows = asyncio.run(_rows(url))
        wrong = _wrong(rows, truth)
    repeated = sum(number - 1 for number in Counter(row.uid for row in rows).values())
    figures = {"kills": KILLS, "jobs": users.number, "rows": len(rows), "wrong rows": len(wrong), "repeated": repeated}
    print(json.dumps(figures))
    return 0


def _wrong(rows: list[Any], truth: dict[str, str]) -> list[str]:
    """The uids whose row is missing, has another state, is closed too early, or is still open."""
    found = {row.uid: row for row in rows}
    wrong = [uid for uid in truth if uid not in found or (found[uid].state, found[uid].deleted) != (truth[uid], None)]
    gone = [row for row in rows if row.uid not in truth]
    return wrong + [row.uid for row in gone if row.deleted is None or row.state not in CLOSED]


async def _rows(url: str) -> list[Any]:
    engine = create_engine(parse_url(url))
    try:
        async with engine.connect() as connection:
            return list((await connection.execute(select(jobs.c.uid, jobs.c.state, jobs.c.deleted))).all())
    finally:
        await engine.dispose()


def _job(name: str) -> Object:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "train:1"}]}}
    spec = {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template}}}
    return {"apiVersion": "training.kubedl.io/v1alpha1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": spec}


if __name__ == "__main__":
    sys.exit(main())
