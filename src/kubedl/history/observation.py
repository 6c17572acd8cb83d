"""An observation: the row that one state of one object becomes. Sinks receive nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

OBSERVED, MISSED = "Observed", "Missed"  # how a deletion became known
ENDED = frozenset({"Succeeded", "Failed"})  # states of jobs that never change again
DELETED, LOST = "Deleted", "Lost"  # states of jobs that were deleted before they ended, seen or not


class RowKey(NamedTuple):
    """Table and uid."""

    table: str
    uid: str


@dataclass(frozen=True, slots=True)
class Observation:
    """One state of one object, newer than all with a lower version."""

    table: str
    uid: str
    created: datetime
    version: int  # resourceVersion
    values: Mapping[str, Any]  # the other columns
    body: Mapping[str, Any] | None = None  # of the row in job_bodies
    deleted: bool = False
    observed: float = field(default=0.0, compare=False)  # monotonic seconds, for the lag

    @property
    def key(self) -> RowKey:
        """Return the key by which newer observations replace older ones."""
        return RowKey(self.table, self.uid)

    def missed(self, noticed: datetime) -> "Observation":
        """Return the same state as the last one of an object that was deleted unseen."""
        values = {**self.values, "deleted": noticed, "deletion": MISSED}
        if values.get("finished", noticed) is None:
            values["finished"] = noticed
        if self.table == "jobs" and values["state"] not in ENDED:
            values["state"] = LOST
        return replace(self, values=values, deleted=True)


@dataclass(frozen=True, slots=True)
class Closing:
    """An object that does not exist any more, and whose last state was not seen: its row is closed as Missed."""

    table: str
    uid: str
    created: datetime
    noticed: datetime
    observed: float = field(default=0.0, compare=False)

    @property
    def key(self) -> RowKey:
        """Return the key of the row."""
        return RowKey(self.table, self.uid)


Change = Observation | Closing
