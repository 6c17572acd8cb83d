"""Logs of pods on two real nodes while the recorder is killed: `python -m proofs.history.log_archive`.

No operator runs: pods are created as it creates them. Some are restarted in place. The storage, a real MinIO, hangs
for a while. At the end every run of a container must have one object with what it printed, and every pod's row the
place of its last log. The last line is JSON.
"""

import json
import os
import random
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from harness.drivers.databases import create_tables
from harness.drivers.history_installation import minio
from harness.drivers.minio import BUCKET, CREDENTIALS, MinIO
from harness.drivers.recorder_process import Recorder
from proofs.seed import seed
from testbed import cluster_lock, namespaces
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until

FULL = os.environ.get("PROOF_SIZE", "full") == "full"
PODS, KILLS = (60, 12) if FULL else (8, 2)
EACH_RESTARTED = 4  # of so many pods one is restarted in place
HANG = 8.0  # seconds
# The kubelet has the log of the run before as long as the next one runs.
AGAIN = "test -f /again/was || { touch /again/was; echo $0 first; exit 1; }; echo $0 second; sleep 150"


def main() -> int:
    """Create pods, kill recorders, count."""
    chance = random.Random(seed())  # noqa: S311 - repeatable on purpose
    with (
        cluster_lock.borrowed(Cluster(chosen_index()), nodes=2) as cluster,
        tempfile.TemporaryDirectory(prefix="kubedl-log-archive-") as directory,
        minio(cluster) as storage,
        namespaces.fresh(cluster.api, "logs") as namespace,
    ):
        place = Path(directory)
        create_tables(f"sqlite:///{place / 'history.db'}")
        recorder = _recorder(cluster, namespace, place, storage)
        with recorder:
            owner = _create_job(cluster, namespace)
            _create_pods(cluster, namespace, owner)
            for number in range(KILLS):
                time.sleep(chance.uniform(1.0, 6.0))
                recorder.kill()
                recorder.start()
                recorder.wait_serving()
                if number == KILLS // 2:
                    storage.freeze()
                    time.sleep(HANG)
                    storage.resume()
            until("every pod to end", lambda: _ended(cluster, namespace), deadline=600, interval=1)
            until("every log to be recorded", lambda: len(_rows(place)) == PODS, deadline=300, interval=1)
            time.sleep(5)  # for what must not come
        figures = _figures(storage, _rows(place))
    print(json.dumps({"pods": PODS, "kills": KILLS, **figures}))
    return 0


def _recorder(cluster: Cluster, namespace: str, place: Path, storage: MinIO) -> Recorder:
    (place / "ca.crt").write_bytes(storage.authority)
    scope = ("--namespace", namespace, "--no-leader-election")
    logs = ("--logs-endpoint", storage.url, "--logs-bucket", BUCKET, "--logs-ca-file", str(place / "ca.crt"))
    keys = {"AWS_ACCESS_KEY_ID": CREDENTIALS.access_key, "AWS_SECRET_ACCESS_KEY": CREDENTIALS.secret_key}
    return Recorder(cluster, f"sqlite:///{place / 'history.db'}", place, *scope, *logs, environment=keys)


def _create_job(cluster: Cluster, namespace: str) -> Object:
    template = {"spec": {"containers": [{"name": "pytorch", "image": "none"}]}}
    body = {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": "PyTorchJob",
        "metadata": {"name": "bert"},
        "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": template}}},
    }
    return cluster.api.create(f"/apis/training.kubedl.io/v1alpha1/namespaces/{namespace}/pytorchjobs", body)


def _create_pods(cluster: Cluster, namespace: str, job: Object) -> None:
    image = cluster.image("base")
    owner = {name: job[name] for name in ("apiVersion", "kind")} | {
        name: job["metadata"][name] for name in ("name", "uid")
    }
    for number in range(PODS):
        name, again = f"bert-worker-{number}", number % EACH_RESTARTED == 0
        script = AGAIN if again else f"sleep {number % 7}; echo $0 only"
        container = {
            "name": "pytorch",
            "image": image,
            "command": ["sh", "-c", script, name],
            "volumeMounts": [{"name": "again", "mountPath": "/again"}],
        }
        metadata = {
            "name": name,
            "labels": {"training.kubedl.io/job-name": "bert"},
            "ownerReferences": [{**owner, "controller": True}],
        }
        spec = {
            "containers": [container],
            "restartPolicy": "OnFailure" if again else "Never",
            "volumes": [{"name": "again", "emptyDir": {}}],
            "terminationGracePeriodSeconds": 0,
        }
        cluster.api.create(f"/api/v1/namespaces/{namespace}/pods", {"kind": "Pod", "metadata": metadata, "spec": spec})


def _ended(cluster: Cluster, namespace: str) -> bool:
    phases = [pod["status"].get("phase") for pod in cluster.api.list(f"/api/v1/namespaces/{namespace}/pods")]
    if any(phase != "Succeeded" for phase in phases):
        raise TimeoutError(f"{phases.count('Succeeded')} of {len(phases)} have succeeded")
    return True


def _rows(place: Path) -> dict[str, tuple[str, int]]:
    """Location and restart of the last log, by pods, when its last run is recorded."""
    connection = sqlite3.connect(place / "history.db", timeout=10)
    found = connection.execute(
        "SELECT name, log_location, log_restart FROM pods WHERE log_location IS NOT NULL AND log_restart = restarts "
        "AND phase = 'Succeeded'"
    ).fetchall()
    connection.close()
    return {name: (location, restart) for name, location, restart in found}


def _figures(storage: MinIO, rows: dict[str, tuple[str, int]]) -> dict[str, int]:
    expected: dict[tuple[str, int], bytes] = {}
    for number in range(PODS):
        name = f"bert-worker-{number}"
        said = ("first", "second") if number % EACH_RESTARTED == 0 else ("only",)
        expected |= {(name, restart): f"{name} {word}\n".encode() for restart, word in enumerate(said)}
    keys = storage.keys()
    found = {_run(key): storage.printed(f"s3://{BUCKET}/{key}") for key in keys}
    return {
        "runs of containers": len(expected),
        "objects": len(keys),
        "runs without an object": len(expected.keys() - found.keys()),
        "objects of no run, or a second one of a run": len(keys) - len(expected.keys() & found.keys()),
        "objects with other content": sum(found[run] != text for run, text in expected.items() if run in found),
        "pods whose row has no place of its last log": PODS - len(rows),
    }


def _run(key: str) -> tuple[str, int]:
    """Pod and restart, from .../<pod>/<uid>/<container>-<restart>.log.gz."""
    *_, pod, _, file = key.split("/")
    return pod, int(file.removesuffix(".log.gz").rpartition("-")[2])


if __name__ == "__main__":
    sys.exit(main())
