"""What the console sends about a job beside others like it: when those started, and what the last good one had."""

from collections.abc import Sequence
from datetime import datetime

from kubedl.console.wire_base import Wire


class StartPage(Wire, frozen=True):
    """How long jobs like this one have waited for nodes."""

    installed: bool  # whether there is a history
    waits: int  # that are known of such jobs
    enough: int  # so many are needed
    half_seconds: int | None  # half of them waited no longer; null: there are not enough
    most_seconds: int | None  # and nine of ten no longer than this
    queue: str  # of those jobs; empty: they are in none
    least_gpus: int
    most_gpus: int
    days: int


class ChangeRow(Wire, frozen=True):
    """A field that differs."""

    field: str  # Worker.pytorch.image
    before: str  # empty: it was not there
    now: str


class ChangesPage(Wire, frozen=True):
    """What is recorded otherwise of a job than of the last one of its name that succeeded before it."""

    name: str  # of that one; empty: none is known
    uid: str
    there: bool  # it still exists
    finished: datetime | None
    rows: Sequence[ChangeRow]  # at most 200
    more: int
    history: str  # asked, absent, failed: where deleted jobs were looked for
