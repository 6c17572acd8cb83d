"""How fast jobs become pods: each contender alone, in a fresh namespace of the same control plane.

The clock runs from the first request that creates a job until every pod exists and every job's status
says so. A controller's processor time is counted until it rests again, so nothing that it does for these
jobs is left out.

`python -m benchmarks.creation --jobs 2000 bare operator bare operator` prints a JSON line for each,
then one with the medians.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks import control_plane, objects, subjects
from benchmarks.api_connection import connect, in_flight
from benchmarks.environment import FULL, fresh_namespace, stage, wait_idle
from benchmarks.observer import jobs_settle, pods_exist, version, watched
from benchmarks.subjects import CONTENDERS, Contender
from harness.drivers import audit_log
from harness.drivers.operator_process import ROOT
from harness.drivers.process import Process
from testbed.cluster import Cluster
from testbed.errors import TestbedError

Figures = dict[str, float | int | str]
Settled = Callable[[objects.Object, int], bool]

SCRIPTS = {"pods alone": "pods", "bare": "bare", "bare with gangs": "gang"}
NAMES = (*SCRIPTS, *CONTENDERS)
PAIRS = {"operator/bare": ("bare", "operator"), "with gangs": ("bare with gangs", "operator with gangs")}
SLOWEST = 5.0  # pods a second, below which a contender is given up
MEGABYTE = 1_000_000


def measure(cluster: Cluster, name: str, jobs: int, pods: int = 4) -> Figures:
    """One contender, once."""
    control_plane.wait_quiet(cluster)
    with tempfile.TemporaryDirectory(prefix="kubedl-bench-") as directory:
        if name in SCRIPTS:
            figures = _script(cluster, name, (jobs, pods), Path(directory))
        else:
            figures = _controller(cluster, CONTENDERS[name], (jobs, pods), Path(directory))
    return {"benchmark": "creation", "contender": name, "jobs": jobs, "pods": jobs * pods, **figures}


def measure_all(cluster: Cluster, names: Sequence[str], jobs: int, pods: int = 4) -> list[Figures]:
    """Several contenders, one after the other, in the order given; each is printed as soon as it is measured."""
    subjects.prepare(cluster, names)
    rows = []
    for name in names:
        rows.append(measure(cluster, name, jobs, pods))
        print(json.dumps(rows[-1]), flush=True)
    return rows


def summary(rows: Sequence[Figures]) -> Figures:
    """The median of every figure of each contender, and of how the operator stands to the least writes."""
    figures: Figures = {}
    for name in dict.fromkeys(str(row["contender"]) for row in rows):
        mine = [row for row in rows if row["contender"] == name]
        for figure in mine[0]:
            values = [row[figure] for row in mine]
            numbers = [value for value in values if not isinstance(value, str)]
            if numbers:
                figures[f"{name} {figure}"] = round(statistics.median(numbers), 3)
    for figure, pair in PAIRS.items():
        if ratios := _ratios(rows, pair):
            figures[figure] = round(statistics.median(ratios), 3)
    return figures


def _ratios(rows: Sequence[Figures], pair: tuple[str, str]) -> list[float]:
    """The operator's speed by that of the script just before it: the machine's own changes from minute to minute."""
    pairs = [(script, run) for script, run in pairwise(rows) if (script["contender"], run["contender"]) == pair]
    return [float(run["pods/s"]) / float(script["pods/s"]) for script, run in pairs]


def main() -> int:
    """Measure what the command line names; the last line is the summary."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.creation", description=__doc__)
    parser.add_argument("contenders", nargs="+", choices=NAMES, metavar=f"{{{', '.join(NAMES)}}}")
    parser.add_argument("--jobs", type=int, default=2000 if FULL else 100)
    parser.add_argument("--pods", type=int, default=4, help="of each job")
    chosen = parser.parse_args()
    names = chosen.contenders if FULL else list(dict.fromkeys(chosen.contenders))  # at a small size each once
    with stage() as cluster:
        print(json.dumps(summary(measure_all(cluster, names, chosen.jobs, chosen.pods))))
    return 0


def _script(cluster: Cluster, name: str, size: tuple[int, int], directory: Path) -> Figures:
    """A straight-line script; its memory is its own affair, since it keeps nothing."""
    jobs, pods = size
    command = [sys.executable, "-m", "benchmarks.baseline", SCRIPTS[name], f"--jobs={jobs}", f"--pods={pods}"]
    with fresh_namespace(cluster) as namespace:
        environment = {"INSTANCE": str(cluster.instance.index)}
        process = Process([*command, f"--namespace={namespace}"], directory / "script.log", environment, ROOT)

        async def load() -> None:
            process.start()
            code = await asyncio.to_thread(process.wait_ended, deadline=_deadline(size))
            if code:
                raise TestbedError(f"the script ended with {code}: {process.tail()}")

        before = control_plane.used(cluster)
        settling = (objects.jobs_path(namespace), objects.settled) if name != "pods alone" else None
        ended = asyncio.run(_clock(cluster, namespace, size, settling, load))
        said = json.loads(process.log().splitlines()[-1])
        return _row(size, ended - said["began"], said["cpu seconds"], _spent(cluster, before))


def _controller(cluster: Cluster, chosen: Contender, size: tuple[int, int], directory: Path) -> Figures:
    """A controller, for which the jobs are created from here."""
    jobs, pods = size
    with (
        chosen.control_plane(cluster),
        fresh_namespace(cluster) as namespace,
        subjects.running(chosen, cluster, directory) as process,
    ):
        wait_idle(process)
        idle, cpu, before = process.rss_bytes(), process.cpu_seconds(), control_plane.used(cluster)
        path, began, since = chosen.jobs_path(namespace), 0.0, audit_log.now()

        async def load() -> None:
            nonlocal began
            async with connect(cluster) as connection:
                began = time.monotonic()
                await in_flight(range(jobs), lambda number: connection.create(path, chosen.job(number, pods)))

        ended = asyncio.run(_clock(cluster, namespace, size, (path, chosen.settled), load))
        spent = _spent(cluster, before)
        wait_idle(process)
        rss = process.rss_bytes()
        return _row(size, ended - began, process.cpu_seconds() - cpu, spent) | {
            "writes/job": round(len(audit_log.writes(cluster, chosen.user, since)) / jobs, 2),
            "rss MB": round(rss / MEGABYTE, 1),
            "rss over idle MB": round((rss - idle) / MEGABYTE, 1),
            "peak over idle MB": round((process.peak_rss_bytes() - idle) / MEGABYTE, 1),
        }


async def _clock(
    cluster: Cluster,
    namespace: str,
    size: tuple[int, int],
    settling: tuple[str, Settled] | None,
    load: Callable[[], Awaitable[None]],
) -> float:
    """Bring the load and return the moment at which everything was there."""
    jobs, pods = size
    ends: list[asyncio.Task[float]] = []
    async with connect(cluster, connections=2) as observing, asyncio.TaskGroup() as group:
        if settling is not None:
            path, settled = settling
            events = watched(observing, path, await version(observing, path))
            settle = jobs_settle(events, lambda status: settled(status, pods), jobs, _deadline(size))
            ends.append(group.create_task(settle))
        ends.append(group.create_task(pods_exist(observing, namespace, jobs * pods, _deadline(size))))
        await load()
    return max(end.result() for end in ends)


def _row(size: tuple[int, int], seconds: float, cpu: float, spent: dict[str, float]) -> Figures:
    jobs, pods = size
    return {
        "seconds": round(seconds, 2),
        "pods/s": round(jobs * pods / seconds, 1),
        "cpu s": round(cpu, 2),
        "cpu ms/pod": round(1000 * cpu / (jobs * pods), 3),
        **{f"{component} cpu s": round(used, 1) for component, used in spent.items()},
    }


def _spent(cluster: Cluster, before: dict[str, float]) -> dict[str, float]:
    return {name: used - before.get(name, 0) for name, used in control_plane.used(cluster).items()}


def _deadline(size: tuple[int, int]) -> float:
    jobs, pods = size
    return 60 + jobs * pods / SLOWEST


if __name__ == "__main__":
    sys.exit(main())
