"""`kubedl list -w`: the jobs that there are, and then a row, or a line of JSON, for each change."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kubedl.cli import job_rows
from kubedl.cli.settings import Settings
from kubedl.cli.table import GrowingTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kubedl.client import JobSummary
    from kubedl.client.job_list import JobChange

DELETED = "Deleted"  # the state of a job that is no more


def print_changes(
    settings: Settings,
    batches: "Iterable[list[JobChange]]",
    oldest: datetime | None,
    place: str,
    output: str,
    *,
    headers: bool,
) -> None:
    """Print until the watch ends. Headers come first, also while there are no jobs."""
    printer = _Printer(settings, output, namespaces=not place, headers=headers)
    for batch in batches:
        printer.write([one for one in batch if oldest is None or one.job.created >= oldest])


class _Printer:
    def __init__(self, settings: Settings, output: str, *, namespaces: bool, headers: bool) -> None:
        self._terminal = settings.terminal()
        self._output = output
        self._namespaces = namespaces
        self._wide = output == "wide"
        self._headers = headers
        columns = job_rows.columns(namespaces=namespaces, wide=self._wide, watched=True)
        self._table = GrowingTable(self._terminal, columns)

    def write(self, changes: "list[JobChange]") -> None:
        """Print changes, at once."""
        if self._output == "json":
            from kubedl.cli.structured import print_line  # noqa: PLC0415 - a table needs none

            for one in changes:
                print_line("JobChange", type=one.type, job=one.job)
        elif self._output == "name":
            for one in changes:
                self._terminal.write(f"{one.job.kind.lower()}/{one.job.name}")
        else:
            now = datetime.now(UTC)
            for line in self._table.lines([self._row(one, now) for one in changes], headers=self._headers):
                self._terminal.write(line)
            self._headers = False
        sys.stdout.flush()

    def _row(self, change: "JobChange", now: datetime) -> list[str]:
        job: JobSummary = change.job
        cells = job_rows.row(job, now, namespaces=self._namespaces, wide=self._wide, watched=True)
        if change.type == "DELETED":
            place = 3 + self._namespaces
            cells[place : place + 2] = [DELETED, "-"]
            cells[-1] = f"was {job.state}" if job.state else ""
        return cells
