"""Whether this console has a history to ask, and what can be asked.

The packages of the history are an extra of the product: they are loaded if a database is named.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import structlog

from kubedl.client.history_database import CLUSTER, DATABASE, DEFAULT_CLUSTER
from kubedl.console.problems import RefusalError
from kubedl.console.stored_logs import StoredLogs

if TYPE_CHECKING:
    from kubedl.console.history_reader import HistoryReader

SETTING = "console.history.databaseSecret"

log = structlog.get_logger()


class Range(NamedTuple):
    """Days, both included."""

    first: date
    last: date


class Wanted(NamedTuple):
    """Which jobs; an empty field does not filter."""

    namespace: str = ""
    kind: str = ""
    user: str = ""
    queue: str = ""
    state: str = ""
    text: str = ""


@dataclass(frozen=True)
class History:
    """A database, none, or one that is named and cannot be asked; and the storage of the logs that it names."""

    reader: "HistoryReader | None" = None
    problem: str = ""
    logs: StoredLogs = field(default_factory=StoredLogs)

    @property
    def installed(self) -> bool:
        """Return whether a database is named."""
        return self.reader is not None or bool(self.problem)

    def insist(self) -> "HistoryReader":
        """Return the database. Raises RefusalError if there is none."""
        if self.reader is not None:
            return self.reader
        if self.problem:
            raise RefusalError(503, "the history cannot be read", self.problem, "Ask an administrator of this console.")
        why = "this console has no database of the history"
        raise RefusalError(404, "no history", why, f"An administrator can name one: {SETTING} of the chart.")


NO_HISTORY = History()


@asynccontextmanager
async def opened(cluster: str, only: str, logs: StoredLogs | None = None) -> AsyncIterator[History]:
    """Yield the history whose address is in the environment; `only` limits it to one namespace.

    Whatever is wrong with it, the console runs: the pages that need it say so.
    """
    if not os.environ.get(DATABASE):
        yield NO_HISTORY
        return
    try:
        from kubedl.console.history_reader import HistoryReader  # noqa: PLC0415
        from kubedl.history.engine import DatabaseUrlError, create_engine, url_from  # noqa: PLC0415
    except ImportError as error:
        log.warning("the history needs the packages of kubedl[history]", error=str(error))
        yield History(problem="the packages of kubedl[history] are not installed")
        return
    try:
        engine = create_engine(url_from(None), read_only=True)
    except DatabaseUrlError as error:
        log.warning("the history has no usable address", error=str(error))
        yield History(problem="the address of its database is not valid")
        return
    try:
        reader = HistoryReader(engine, cluster or os.environ.get(CLUSTER) or DEFAULT_CLUSTER, only)
        yield History(reader, logs=logs or StoredLogs())
    finally:
        await engine.dispose()
