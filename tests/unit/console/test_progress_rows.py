"""How far a job is, as its row says: what its program has reported, and nothing for a program that reports nothing."""

from datetime import UTC, datetime
from typing import Any

from kubedl.console.kinds import job_resources
from kubedl.console.rows import job_row
from kubedl.console.wire import JobRow
from kubedl.kube import codec

END = "2026-11-18T15:00:00Z"


def row(state: str = "Running", work: int | None = 4000, done: int = 1000, unknown: str = "False") -> JobRow:
    """The row of a job on spot nodes."""
    spot: dict[str, Any] = {"pools": ["spot"], **({"work": {"seconds": work}} if work is not None else {})}
    status = {
        "state": state,
        "spot": {"progress": {"seconds": done}, "projectedEnd": END},
        "conditions": [{"type": "ProgressUnknown", "status": unknown}],
    }
    body = {"metadata": {"name": "bert"}, "spec": {"spot": spot}, "status": status}
    return job_row("PyTorchJob", codec.decode(codec.encode(body), job_resources()["pytorchjob"].type))


def test_what_the_program_reports_is_a_part_of_the_work() -> None:
    assert (row().progress, row().ends, row().progress_unknown) == (0.25, datetime(2026, 11, 18, 15, tzinfo=UTC), False)
    assert row(unknown="True").progress_unknown
    assert row(done=9999).progress == 1.0


def test_without_work_nothing_is_a_part_of_it() -> None:
    """Unknown is not 0."""
    assert (row(work=None).progress, row(work=None).ends) == (None, None)


def test_only_a_job_that_runs_has_an_end_before_it_ends() -> None:
    assert (row("Failed").progress, row("Failed").ends) == (0.25, None)
