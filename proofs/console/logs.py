"""A million lines of 32 ranks on real nodes, read in Chromium: `python -m proofs.console.logs`.

An operator runs the job on two real nodes, whose kubelets rotate logs as they do by default; a recorder archives them
in a real MinIO. A person follows a log while its node rotates it, with the console alive and dead; opens addresses of
lines when pods and job are gone; and reads and searches the archive. The last line is JSON.
"""

import base64
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.environment import say
from harness.drivers.console_process import ConsoleProcess, token_of
from harness.drivers.databases import Database, Postgres, create_tables
from harness.drivers.history_installation import minio
from harness.drivers.minio import BUCKET, CREDENTIALS, MinIO
from harness.drivers.operator_process import Operator
from harness.drivers.recorder_process import Recorder
from proofs.console import log_job
from proofs.console.log_job import LINES, MASTER, NAME, NEEDLE, NEEDLE_LINE, NEEDLE_RANK, RANKS, LogJob
from testbed import cluster_lock, namespaces
from testbed.cluster import Cluster
from testbed.instance import chosen_index
from testbed.waiting import until
from tests.browser.scripts import browser, go_on, tell

RIGHTS = (
    {"apiGroups": ["training.kubedl.io"], "resources": ["*"], "verbs": ["get", "list"]},
    {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["get", "list"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
)
KEYS = {"AWS_ACCESS_KEY_ID": CREDENTIALS.access_key, "AWS_SECRET_ACCESS_KEY": CREDENTIALS.secret_key}
LOOKED = [rank for rank in (3, 17, 31, 8, 24) if rank < RANKS]
Figures = dict[str, float]


def main() -> int:
    """Print the figures."""
    with (
        cluster_lock.borrowed(Cluster(chosen_index(), report=say), nodes=2) as cluster,
        minio(cluster) as storage,
        Postgres() as database,
        namespaces.fresh(cluster.api, "logs") as namespace,
        tempfile.TemporaryDirectory(prefix="kubedl-console-logs-") as directory,
    ):
        create_tables(database.url())
        token = token_of(cluster, namespace, "ada", *RIGHTS)
        with _parts(cluster, namespace, Path(directory), storage, database) as (recorder, console):
            figures = _read(LogJob(cluster, namespace), console, token, database)
            figures |= _used("recorder", recorder) | _used("console", console)
        figures |= _archived(storage)
    print(json.dumps(figures))
    return 0


@contextmanager
def _parts(
    cluster: Cluster, namespace: str, place: Path, storage: MinIO, database: Database
) -> Iterator[tuple[Recorder, ConsoleProcess]]:
    """An operator, a recorder and a console."""
    authority, key = place / "ca.crt", place / "session-key"
    authority.write_bytes(storage.authority)
    key.write_text(base64.b64encode(os.urandom(32)).decode())
    logs = ("--logs-endpoint", storage.url, "--logs-ca-file", str(authority))
    url, scope = database.url(), ("--namespace", namespace, "--no-leader-election")
    session = ("--history-cluster=test", "--session-key-file", str(key))  # people stay signed in when it dies
    with (
        Operator(cluster, directory=place),
        Recorder(cluster, url, place, *scope, *logs, "--logs-bucket", BUCKET, environment=KEYS) as recorder,
        ConsoleProcess(cluster, place, *session, *logs, mode="token", history=url, environment=KEYS) as console,
    ):
        yield recorder, console


def _read(job: LogJob, console: ConsoleProcess, token: str, database: Database) -> Figures:
    """What a person sees while the job runs, ends and is gone."""
    say(f"{RANKS} workers print {LINES} lines each")
    uid = job.create()
    job.until_printed()
    until("the logs of those that have ended", lambda: _rows(database) == RANKS - 1, deadline=300, interval=0.5)
    needle = {"needle": NEEDLE, "needleRank": NEEDLE_RANK, "needleLine": NEEDLE_LINE}
    order = {"ranks": RANKS, "lines": LINES, "name": NAME, "uid": uid, "looked": LOOKED, "logs": RANKS + 1, **needle}
    order |= {"job": f"/jobs/{job.namespace}/pytorchjob/{NAME}"}
    order |= {"rank": log_job.MASTER_RANK, "before": log_job.FIRST_LINES}
    with browser("node-logs", console, token, ORDER=json.dumps(order)) as process:
        go_on(process, "following")
        say("the node rotates the log that is followed")
        job.rotate(1)
        tell(process)
        go_on(process, "cut")
        say("the console dies, and the node rotates the log")
        used = _used("console that followed", console)
        console.kill()
        job.rotate(2)
        console.__enter__()
        tell(process)
        go_on(process, "chosen")
        say("the job ends, is archived and deleted")
        ended = time.monotonic()
        job.end()
        until("all logs to be recorded", lambda: _rows(database) == RANKS + 1, deadline=300, interval=0.5)
        taken = time.monotonic() - ended
        job.delete()
        gone = "SELECT count(*) FROM jobs WHERE deleted IS NOT NULL"
        until("the history to know it", lambda: database.execute(gone, "history").strip() == "1", deadline=60)
        tell(process)
        printed, errors = process.communicate(timeout=600)
    *_, figures, last = printed.splitlines() or ["", ""]
    if last != "done":
        raise AssertionError(errors)
    return {**json.loads(figures), **used, "seconds to archive the last": round(taken, 1)}


def _rows(database: Database) -> int:
    query = "SELECT count(*) FROM pods WHERE log_location IS NOT NULL"
    return int(database.execute(query, "history"))


def _used(name: str, process: Recorder | ConsoleProcess) -> Figures:
    memory = process.peak_rss_bytes() / 1e6
    return {f"{name} MB": round(memory), f"{name} cpu seconds": round(process.cpu_seconds(), 1)}


def _archived(storage: MinIO) -> Figures:
    """How much of the workers is in the archive, and what is not what they have printed."""
    keys = storage.keys()
    logs = {key.split("/")[5]: storage.printed(f"s3://{BUCKET}/{key}") for key in keys}
    workers = [logs.pop(f"{NAME}-worker-{rank}", b"") for rank in range(RANKS)]
    wrong = [rank for rank, log in enumerate(workers) if log != log_job.printed(rank)]
    master = [int(line.split()[3]) for line in logs.pop(MASTER).splitlines()]
    holes = len(range(master[0], master[-1] + 1)) - len(master)
    lines = sum(log.count(b"\n") for log in workers)
    wrongs = {"logs with other content": len(wrong), "objects of no pod": len(logs), "holes in the rotated log": holes}
    return {"lines": lines, **wrongs}


if __name__ == "__main__":
    sys.exit(main())
