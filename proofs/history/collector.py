"""A real OpenTelemetry collector that hangs beside a recorder: `python -m proofs.history.collector`.

Jobs are created on a real control plane while the collector accepts connections and never answers; each must be in
a real database at once. When it answers again it must be told of all of them. The last line is JSON.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from harness.drivers.databases import Postgres, create_tables
from harness.drivers.otel_collector import OtelCollector
from harness.drivers.recorder_process import Recorder
from testbed import cluster_lock, namespaces
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until

FULL = os.environ.get("PROOF_SIZE", "full") == "full"
JOBS = 500 if FULL else 50


def main() -> int:
    """Before, during and after."""
    with (
        cluster_lock.borrowed(Cluster(chosen_index())) as cluster,
        tempfile.TemporaryDirectory(prefix="kubedl-collector-") as directory,
        Postgres("fsync=off") as database,
        OtelCollector() as collector,
        namespaces.fresh(cluster.api, "told") as namespace,
    ):
        create_tables(database.url())
        scope = ("--namespace", namespace, "--no-leader-election", "--sink", f"otlp:{collector.url}")
        with Recorder(cluster, database.url(), Path(directory), *scope):
            _create(cluster, namespace, "before")
            until("the collector to be told", lambda: "before" in _told(collector), deadline=60)
            collector.freeze()
            slowest, began = 0.0, time.monotonic()
            for number in range(JOBS):
                _create(cluster, namespace, f"job-{number}")
                if number % 50 == 49:
                    slowest = max(slowest, _seconds_until_recorded(database, number + 2))
            seconds = time.monotonic() - began
            told_while_hung = len(_told(collector)) - 1
            collector.resume()
            until("all jobs to be told", lambda: len(_told(collector)) == JOBS + 1, deadline=180, interval=1)
        figures = {
            "jobs": JOBS,
            "seconds of the outage": round(seconds, 1),
            "records while it hung": told_while_hung,
            "slowest seconds until the database had them": round(slowest, 2),
            "jobs that the collector was told of afterwards": len(_told(collector)) - 1,
        }
    print(json.dumps(figures))
    return 0


def _create(cluster: Cluster, namespace: str, name: str) -> None:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "none"}]}}
    body = {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template}}},
    }
    cluster.api.create(f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/pytorchjobs", body)


def _seconds_until_recorded(database: Postgres, number: int) -> float:
    began = time.monotonic()
    until(
        "the rows",
        lambda: int(database.execute("SELECT count(*) FROM jobs", "history")) >= number,
        deadline=60,
        interval=0.05,
    )
    return time.monotonic() - began


def _told(collector: OtelCollector) -> set[str]:
    """Names of jobs that the collector has a record of."""
    found = [one["attributes"] for one in collector.records()]
    return {one["kubedl.name"] for one in found if one["kubedl.table"] == "jobs" and "kubedl.name" in one}


if __name__ == "__main__":
    sys.exit(main())
