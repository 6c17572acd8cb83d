"""Sinks: where observations are written. A package adds one by an entry point in the group `kubedl.history_sinks`.

The entry point names a function from the part of `--sink NAME:ARGUMENT` after the colon to a Sink.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import entry_points
from typing import Protocol, runtime_checkable

from kubedl.history.observation import Change, RowKey

ENTRY_POINTS = "kubedl.history_sinks"


class SinkUnavailableError(Exception):
    """The sink cannot be written to at the moment; the batch is tried again."""


class FencedError(Exception):
    """Another recorder has taken over, so this one must not write any more."""


class RejectedError(Exception):
    """The sink will never accept this batch: one of its rows is invalid."""


@dataclass(frozen=True)
class Epoch:
    """The lease under which a recorder writes: uid of the Lease, number of its holders so far, and the holder."""

    lease_uid: str = ""
    transitions: int = 0
    holder: str = ""


class Sink(Protocol):
    """Receives batches, in order. A batch has at most one change of each object.

    A batch may arrive twice, if it is unknown whether it was written.
    """

    name: str

    async def claim(self, epoch: Epoch) -> None:
        """Take over from the recorder of an earlier epoch. Raises FencedError if a later one has taken over."""

    async def write(self, batch: Sequence[Change]) -> None:
        """Write a batch as a whole, or raise one of the errors above."""

    async def close(self) -> None:
        """Release all resources."""


@runtime_checkable
class Reconcilable(Protocol):
    """A sink that can tell which objects it believes to exist, so that those that are gone can be closed."""

    def open_rows(self, table: str, kind: str, namespace: str) -> AsyncIterator[Sequence[tuple[RowKey, datetime]]]:
        """Yield pages of the open rows of a table: their keys and creation times. Empty kind or namespace: all."""


def installed_sinks() -> dict[str, Callable[[str], Sink]]:
    """Return the factories of all sinks of other packages, by name."""
    return {point.name: point.load() for point in entry_points(group=ENTRY_POINTS)}
