"""`list -w`, `submit --check` and `submit --wait` on a real API server with simulated nodes."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from harness.drivers.operator_process import ROOT
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.cluster.slot_jobs import JOBS, SlotJobs
from tests.cluster.test_cli import SIMULATED, Run, jobs, kubedl  # noqa: F401 - fixtures

BASE = ("submit", "pytorch", "--image", "none", *SIMULATED)


def test_a_watched_list_has_a_row_for_each_change(
    jobs: SlotJobs,  # noqa: F811
    kubedl: Run,  # noqa: F811
    control_plane: Cluster,
    namespace: str,
    tmp_path: Path,
) -> None:
    """The rows come from a watch of the server's own tables, of all kinds."""
    with _started(control_plane, namespace, tmp_path, "list", "-w", "--mine") as (process, rows):
        until("the head", lambda: bool(rows), deadline=60)
        assert rows[0].split() == ["TIME", "NAME", "KIND", "STATE", "READY", "GPUS", "QUEUE", "WHAT"]
        assert kubedl(*BASE, "--name", "bert").returncode == 0
        until("a row of the job that runs", lambda: _states(rows)[-1:] == ["Running"], deadline=60)
        jobs.succeed("bert")
        until("a row of its end", lambda: _states(rows)[-1:] == ["Succeeded"], deadline=60)
        assert kubedl("delete", "bert").returncode == 0
        until("a row of its deletion", lambda: _states(rows)[-1:] == ["Deleted"], deadline=60)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert {row.split()[1] for row in rows[1:]} == {"bert"}


def test_a_check_says_what_the_scheduler_does(jobs: SlotJobs, kubedl: Run) -> None:  # noqa: F811
    """Two slots on each of two nodes: four pods fit, a fifth waits, three slots on one node and five pods never fit."""
    jobs.offer(2)
    slot = f"{jobs.slot}=1"

    def check(*flags: str) -> tuple[int, str]:
        done = kubedl(*BASE, "--name", "bert", "--check", *flags)
        return done.returncode, done.stdout.partition(":")[0]

    assert check("--device", slot, "--workers", "4") == (0, "yes")
    assert check("--device", f"{jobs.slot}=3") == (1, "no")
    assert check("--device", slot, "--workers", "5") == (1, "no")
    assert check("--selector", "disk=none") == (1, "no")
    assert kubedl("list").stdout == ""

    assert kubedl(*BASE, "--name", "four", "--device", slot, "--workers", "4").returncode == 0
    assert kubedl("wait", "four", "--for", "ready", "--timeout", "180").returncode == 0
    assert check("--device", slot) == (3, "wait")
    assert kubedl(*BASE, "--name", "fifth", "--device", slot).returncode == 0
    until("the scheduler to say so", lambda: "slots.example" in jobs.status("fifth").get("message", ""), deadline=60)
    taken = kubedl(*BASE, "--name", "four", "--check")
    assert (taken.returncode, taken.stdout) == (1, "")
    assert taken.stderr.startswith("error: four is taken: ")
    wide = kubedl("list", "-o", "wide").stdout.splitlines()
    assert "kwok-1,kwok-2" in next(row for row in wide if row.startswith("four"))
    jobs.offer(None)


def test_phases_of_a_job_that_is_waited_for(
    jobs: SlotJobs,  # noqa: F811
    control_plane: Cluster,
    namespace: str,
    tmp_path: Path,
) -> None:
    words = (*BASE, "--name", "bert", "--wait", "--timeout", "120", "-o", "json")
    with _started(control_plane, namespace, tmp_path, *words) as (process, rows):
        assert process.stderr is not None
        phases: list[str] = []
        listener = threading.Thread(target=_collect, args=(process.stderr, phases), daemon=True)
        listener.start()
        until("the job to run", lambda: _state(jobs) == "Running", deadline=60)
        # Otherwise the command may see the job for the first time when it has ended.
        until("it to say so", lambda: any(line.split()[2:3] == ["Running"] for line in phases), deadline=60)
        jobs.succeed("bert")
        assert process.wait(60) == 0
        listener.join(60)
        said = [line.rstrip("\n").split(maxsplit=3)[2:] for line in phases if line[2:3] == ":"]
    assert {words[0] for words in said} == {"Placed", "Images", "Running"}
    assert any(words[1].startswith("1 of 1 on kwok-") for words in said if words[0] == "Placed" and len(words) > 1)
    (result,) = json.loads("".join(rows))["items"]
    assert (result["state"], result["exitCode"], result["code"]) == ("Succeeded", 0, 0)


def _state(jobs: SlotJobs) -> str:  # noqa: F811
    found = jobs.cluster.kubectl("get", JOBS, "-n", jobs.namespace, "-o", "jsonpath={.items[*].status.state}")
    return found.strip()


def _states(rows: list[str]) -> list[str]:
    return [row.split()[3] for row in rows[1:]]


def _collect(stream: TextIO, rows: list[str]) -> None:
    for row in stream:
        rows.append(row)  # noqa: PERF402 - others read while it grows


@contextmanager
def _started(
    cluster: Cluster, namespace: str, cache: Path, *words: str
) -> Iterator[tuple["subprocess.Popen[str]", list[str]]]:
    """Start a command, and collect the rows that it prints."""
    where = ("-n", namespace, "--kubeconfig", str(cluster.kubeconfig))
    # A shell starts what runs in its background with SIGINT ignored, and so would be what the tests start.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "-m", "kubedl.entrypoints.command", *where, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "XDG_CACHE_HOME": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    signal.signal(signal.SIGINT, inherited)
    rows: list[str] = []
    assert process.stdout is not None
    reader = threading.Thread(target=_collect, args=(process.stdout, rows), daemon=True)
    reader.start()
    try:
        with process:
            yield process, rows
            reader.join(10)
    finally:
        process.kill()
