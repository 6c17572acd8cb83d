"""The recorder on a real API server, with its Lease, and SQLite as database."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.drivers.recorder_process import Recorder
from kubedl.history.engine import create_engine, parse_url
from kubedl.history.migrate import migrate
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until

# A recorder that cannot renew in time rightly ends, and nobody starts it again.
FAST = ("--lease-seconds=20", "--lease-renew-seconds=15", "--lease-retry-seconds=1")
CANARY = "canary-8c1f"


class History:
    """A database file, and the objects of a namespace."""

    def __init__(self, cluster: Cluster, namespace: str, directory: Path) -> None:
        self._cluster, self._namespace, self._directory = cluster, namespace, directory
        self.url = f"sqlite:///{directory / 'history.db'}"
        asyncio.run(_migrated(self.url))

    def recorder(self, name: str = "recorder") -> Recorder:
        """A recorder of the namespace."""
        scope = ("--namespace", self._namespace, "--lease-namespace", self._namespace)
        return Recorder(self._cluster, self.url, self._directory, *scope, *FAST, name=name)

    def rows(self, table: str) -> dict[str, Any]:
        """The rows of a table, by name."""
        with sqlite3.connect(self._directory / "history.db", timeout=10) as connection:
            connection.row_factory = sqlite3.Row
            found = connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - names of our tables
        connection.close()
        return {row["name"] if table != "recorders" else row["holder"]: row for row in found}

    def everything(self) -> str:
        """Every text in the database."""
        with sqlite3.connect(self._directory / "history.db", timeout=10) as connection:
            content = "\n".join(connection.iterdump())
        connection.close()
        return content

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait for rows."""
        until(what, condition, deadline=120)

    @property
    def jobs(self) -> str:
        """The path of the jobs."""
        return f"/apis/training.kubedl.io/v1alpha1/namespaces/{self._namespace}/pytorchjobs"

    @property
    def pods(self) -> str:
        """The path of the pods."""
        return f"/api/v1/namespaces/{self._namespace}/pods"

    def create_job(self, name: str) -> Object:
        """A job with secrets wherever users put them."""
        container = {
            "name": "pytorch",
            "image": "train:1",
            "env": [{"name": "TOKEN", "value": CANARY}],
            "args": [CANARY],
            "resources": {"limits": {"nvidia.com/gpu": 2}},
        }
        template = {"spec": {"containers": [container]}}
        metadata = {"name": name, "annotations": {"kubedl.io/user": "ada", "note": CANARY}}
        spec = {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template}}}
        return self._cluster.api.create(self.jobs, {**_head("PyTorchJob", metadata), "spec": spec})

    def create_pod(self, job: Object) -> Object:
        """A pod of a job, as the operator creates it; no node runs it."""
        name = f"{job['metadata']['name']}-master-0"
        owner = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": job["metadata"]["name"]}
        metadata = {
            "name": name,
            "labels": {"training.kubedl.io/job-name": job["metadata"]["name"]},
            "ownerReferences": [{**owner, "uid": job["metadata"]["uid"], "controller": True}],
        }
        container = {"name": "pytorch", "image": "train:1", "env": [{"name": "TOKEN", "value": CANARY}]}
        spec = {"containers": [container], "nodeSelector": {"nowhere": "true"}}
        return self._cluster.api.create(self.pods, {"kind": "Pod", "metadata": metadata, "spec": spec})

    def set_state(self, name: str, state: str) -> None:
        """Write a status, as the operator does."""
        job = self._cluster.api.get(f"{self.jobs}/{name}")
        status = {"state": state, "reason": "Testing", "startTime": "2026-11-17T12:00:00Z"}
        self._cluster.api.call("PUT", f"{self.jobs}/{name}/status", {**job, "status": status})


@pytest.fixture
def history(cluster: Cluster, namespace: str, tmp_path: Path) -> History:
    """A history of the namespace."""
    return History(cluster, namespace, tmp_path)


def test_jobs_pods_and_events_outlive_the_cluster(cluster: Cluster, history: History) -> None:
    """Recorded when they are observed; what dies unseen is closed as Missed; no secret is stored."""
    with history.recorder():
        job = history.create_job("bert")
        history.create_pod(job)
        history.wait("the rows", lambda: "bert" in history.rows("jobs") and "bert-master-0" in history.rows("pods"))
        row = history.rows("jobs")["bert"]
        assert (row["user_name"], row["gpus"], row["uid"]) == ("ada", 2, job["metadata"]["uid"])
        assert history.rows("pods")["bert-master-0"]["job_uid"] == job["metadata"]["uid"]
        history.set_state("bert", "Running")
        history.wait("the state", lambda: history.rows("jobs")["bert"]["state"] == "Running")
        history.wait("an event about the pod", lambda: "FailedScheduling" in history.everything())
        cluster.api.delete(f"{history.jobs}/bert")
        history.wait("the deletion", lambda: history.rows("jobs")["bert"]["state"] == "Deleted")
        assert history.rows("jobs")["bert"]["deletion"] == "Observed"
        history.create_job("unseen")
        history.create_job("stays")
        history.wait("the rows", lambda: {"unseen", "stays"} <= history.rows("jobs").keys())
    cluster.api.delete(f"{history.jobs}/unseen")
    with history.recorder():
        history.wait("the closing", lambda: history.rows("jobs")["unseen"]["deletion"] == "Missed")
        assert history.rows("jobs")["unseen"]["state"] == "Lost"
        assert history.rows("jobs")["stays"]["deleted"] is None
    assert CANARY not in history.everything()


def test_a_frozen_recorder_does_not_write_after_another_took_over(history: History) -> None:
    """One epoch for each holder of the Lease; the one that wakes up ends."""
    with history.recorder("one") as one:
        history.create_job("first")
        history.wait("the first to write", lambda: "first" in history.rows("jobs"))
        one.freeze()
        with history.recorder("two"):
            history.create_job("second")
            history.wait("the second to write", lambda: "second" in history.rows("jobs"))
            one.resume()
            assert one.wait_ended() == 1
            history.set_state("second", "Succeeded")
            history.wait("the state", lambda: history.rows("jobs")["second"]["state"] == "Succeeded")
    assert [row["epoch"] for row in history.rows("recorders").values()] == [2]


def _head(kind: str, metadata: Object) -> Object:
    return {"apiVersion": "training.kubedl.io/v1alpha1", "kind": kind, "metadata": metadata}


async def _migrated(url: str) -> None:
    engine = create_engine(parse_url(url))
    await migrate(engine)
    await engine.dispose()
