"""The job of these proofs: 48 hours of work (22.5 on the short traces of GCP) on as many nodes as a trace has."""

import os
from collections.abc import Callable, Iterable, Sequence
from multiprocessing import get_context
from statistics import fmean
from typing import TypeVar

from harness.spot_replay.traces import Trace, load
from harness.spot_replay.world import Truth
from kubedl.training.elastic.terms import Terms

HOUR = 3600
COLD_START, CHECKPOINT, CHANGEOVER = 540, 30, 60
DEADLINES = (1.0833, 1.25, 1.5, 2.0)  # over work
FAMILIES = "ABCDEFG"
PROCESSES = 2

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")


def starts(full: int, small: int) -> int:
    """How many starts of each trace are played at this size."""
    return small if os.environ.get("PROOF_SIZE") == "small" else full


def work_on(trace: Trace) -> int:
    """Seconds at full size."""
    return int(22.5 * HOUR) if trace.family == "E" else 48 * HOUR


def notice_on(trace: Trace) -> int:
    """Seconds: of GCP or of AWS."""
    return 30 if trace.family == "E" else 120


def terms_on(trace: Trace, ratio: float) -> Terms:
    """What the job was told."""
    work = work_on(trace)
    return Terms(
        size=trace.nodes,
        min_size=max(1, trace.nodes // 4),
        work=work,
        started=0,
        deadline=int(work * ratio),
        cold_start=COLD_START,
        checkpoint=CHECKPOINT,
        changeover=CHANGEOVER,
        notice=notice_on(trace),
    )


def truth_on(trace: Trace) -> Truth:
    """How things are: as it was told."""
    least = max(1, trace.nodes // 4)
    return Truth(trace.nodes, least, work_on(trace), COLD_START, CHECKPOINT, CHANGEOVER, notice_on(trace))


def on_demand_only(trace: Trace) -> int:
    """What full size on on-demand alone pays, in node-seconds."""
    return trace.nodes * (work_on(trace) + COLD_START)


def saved(trace: Trace, spot: float, on_demand: float, price: float) -> float:
    """The part of that which is saved; `price` is that of spot, on-demand costs 1."""
    return 1 - (price * spot + on_demand) / on_demand_only(trace)


def parallel(function: Callable[[JobT], ResultT], jobs: Iterable[JobT]) -> list[ResultT]:
    """Results in the order of the jobs."""
    with get_context("spawn").Pool(PROCESSES) as pool:
        return list(pool.imap(function, jobs, chunksize=1))


def traces() -> list[Trace]:
    """All of them."""
    return load()


def mean_of_families(values: Sequence[tuple[str, float]]) -> float:
    """The mean of the families' means, so that a family with many traces does not count more."""
    return fmean(by_family(values).values())


def by_family(values: Sequence[tuple[str, float]]) -> dict[str, float]:
    """The mean of each family."""
    found = {family: [value for of, value in values if of == family] for family in FAMILIES}
    return {family: fmean(listed) for family, listed in found.items() if listed}
