"""What the console sends about Crons."""

from collections.abc import Sequence
from datetime import datetime

from kubedl.console.wire_base import Missing, Wire


class RunRow(Wire, frozen=True):
    """A run of a Cron."""

    kind: str
    name: str
    status: str  # Active, Succeeded, Failed, Deleted
    there: bool  # the job still exists, and the caller may list it
    created: datetime | None
    finished: datetime | None


class CronRow(Wire, frozen=True):
    """A Cron, with its last runs."""

    namespace: str
    name: str
    kind: str
    schedule: str
    time_zone: str
    policy: str  # Allow, Forbid, Replace
    suspended: bool
    ready: str  # True, False, Unknown; empty: no operator has seen it
    reason: str
    message: str
    missed: bool  # the last scheduled time had no run
    next: datetime | None
    last: datetime | None
    runs: Sequence[RunRow]  # newest first, at most 30


class CronList(Wire, frozen=True):
    """The Crons that a person may list."""

    installed: bool
    rows: Sequence[CronRow]  # at most 500
    more: int
    missing: Sequence[Missing]
