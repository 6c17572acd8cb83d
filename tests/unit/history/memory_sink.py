"""A sink in memory, with the rules of the database, and faults on demand."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from kubedl.history.observation import MISSED, Change, Observation, RowKey
from kubedl.history.sink import Epoch, FencedError, RejectedError, SinkUnavailableError


class MemorySink:
    """Keeps the last state of each object."""

    name = "memory"

    def __init__(self) -> None:
        self.rows: dict[RowKey, Observation] = {}
        self.missed: dict[RowKey, datetime] = {}
        self.batches: list[int] = []
        self.down = False
        self.fenced = False
        self.rejects: set[str] = set()  # uids

    async def claim(self, epoch: Epoch) -> None:
        """Fails while it is down."""
        self._ready()

    async def write(self, batch: Sequence[Change]) -> None:
        """Write all or nothing."""
        self._ready()
        if any(change.uid in self.rejects for change in batch):
            raise RejectedError("no")
        self.batches.append(len(batch))
        for change in batch:
            known = self.rows.get(change.key)
            if not isinstance(change, Observation):
                if known is not None and not known.deleted:
                    self.missed[change.key] = change.noticed
                continue
            again = known is not None and known.version == change.version and change.key in self.missed
            if known is None or change.version > known.version or again:
                self.rows[change.key] = change
                self.missed.pop(change.key, None)
                if change.values.get("deletion") == MISSED:
                    self.missed[change.key] = change.values["deleted"]

    async def open_rows(
        self, table: str, kind: str, namespace: str
    ) -> AsyncIterator[Sequence[tuple[RowKey, datetime]]]:
        """Yield what is open."""
        self._ready()
        yield [
            (key, row.created)
            for key, row in self.rows.items()
            if key.table == table and not row.deleted and key not in self.missed
        ]

    async def close(self) -> None:
        """Nothing to release."""

    def _ready(self) -> None:
        if self.fenced:
            raise FencedError("another recorder has taken over")
        if self.down:
            raise SinkUnavailableError("down")

    def states(self) -> dict[str, str]:
        """Name to phase, or how it went."""
        return {
            row.values["name"]: "Missed" if key in self.missed else (row.values["deletion"] or row.values["phase"])
            for key, row in self.rows.items()
            if key.table == "pods"
        }
