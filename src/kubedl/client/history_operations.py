"""Jobs of the past, as coroutines: lists, one job with its pods and events, what it cost, and numbers of jobs."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol, TypeVar

from kubedl.client.blocking import blocking
from kubedl.client.errors import NotFound
from kubedl.client.history_database import HistoryDatabase

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

    from kubedl.history.queries.answers import JobDetail, JobPage, ReceiptRecord, StatisticsRow
    from kubedl.history.queries.logs import LogRecord

T = TypeVar("T")


class InThread(Protocol):
    """Runs a function that would hold up an event loop."""

    async def __call__(self, function: Callable[[], T], /) -> T:
        """Return what it returns."""


async def here(function: Callable[[], T], /) -> T:
    """Call a function where there is no event loop to hold up."""
    return function()


class HistoryOperations:
    """Jobs that ended or were deleted, as the recorder has kept them in its database.

    Every method raises KubedlError if no database is named, NotSupported without the packages of `kubedl[history]`, and
    Unreachable if the database does not answer.
    """

    def __init__(self, in_thread: InThread, database: HistoryDatabase, namespace: str) -> None:
        self._in_thread, self._database = in_thread, database
        self.namespace = namespace

    @property
    def is_known(self) -> bool:
        """Return whether a database is named, here or in the environment."""
        return self._database.is_named

    async def list(  # noqa: PLR0913 - a filter each
        self,
        *,
        namespace: str | None = None,
        all_namespaces: bool = False,
        kind: str = "",
        state: str = "",
        queue: str = "",
        user: str = "",
        since: datetime | timedelta | None = None,
        limit: int = 50,
        after: str = "",
    ) -> "JobPage":
        """Return the newest jobs, at most 500; those that exist too. `after` is the `next` of the page before.

        `kind` is as the server spells it, such as PyTorchJob, and `since` when a job was created at the earliest.
        """
        places = None if all_namespaces else (namespace or self.namespace,)
        oldest = datetime.now(UTC) - since if isinstance(since, timedelta) else since

        async def ask(connection: "AsyncConnection", cluster: str) -> "JobPage":
            from kubedl.history.queries.jobs import JobFilter, list_jobs  # noqa: PLC0415

            wanted = JobFilter(
                namespaces=places, kind=kind, user=user, queue=queue, state=state.capitalize(), created_from=oldest
            )
            return await list_jobs(connection, cluster, wanted, cursor=after, limit=limit)

        return await self._ask(ask)

    async def get(self, name: str, *, namespace: str | None = None, kind: str = "") -> "JobDetail":
        """Return the newest job of a name, with its pods and events. Raises NotFound."""
        found, place = await self.find(name, namespace=namespace, kind=kind), namespace or self.namespace
        if found is None:
            raise NotFound(f"the history has no job called {name} in {place}", "", ("kubedl history list -A",))
        return found

    async def find(self, name: str, *, namespace: str | None = None, kind: str = "") -> "JobDetail | None":
        """Return the newest job of a name, or None."""
        place = namespace or self.namespace

        async def ask(connection: "AsyncConnection", cluster: str) -> "JobDetail | None":
            from kubedl.history.queries.jobs import find_job  # noqa: PLC0415

            return await find_job(connection, cluster, place, name, kind)

        return await self._ask(ask)

    async def receipt(self, name: str, *, namespace: str | None = None, kind: str = "") -> "ReceiptRecord":
        """Return what the newest job of a name used and cost. Raises NotFound, also before the job has ended."""
        uid = (await self.get(name, namespace=namespace, kind=kind)).job.uid

        async def ask(connection: "AsyncConnection", cluster: str) -> "ReceiptRecord | None":
            from kubedl.history.queries.spend import get_receipt  # noqa: PLC0415

            return await get_receipt(connection, cluster, uid)

        found = await self._ask(ask)
        if found is None:
            steps = (f"kubedl history get {name}",)
            raise NotFound(f"there is no receipt of {name} yet", "one is made when a job has ended", steps)
        return found

    async def statistics(
        self, by: Sequence[str] = ("state",), *, since: timedelta = timedelta(days=30)
    ) -> "tuple[StatisticsRow, ...]":
        """Return how many jobs of all namespaces were created since then, and how many GPUs they asked for.

        `by` are some of user, namespace, kind, queue, state and day. Raises Invalid for others, and for over a year.
        """

        async def ask(connection: "AsyncConnection", cluster: str) -> "tuple[StatisticsRow, ...]":
            from kubedl.history.queries.statistics import statistics  # noqa: PLC0415

            now = datetime.now(UTC)
            return await statistics(connection, cluster, by, now - since, now)

        return await self._ask(ask)

    async def logs(self, name: str, *, namespace: str | None = None, kind: str = "") -> "tuple[LogRecord, ...]":
        """Return the pods of the newest job of a name, each with the place of its archived log. Raises NotFound."""
        job = (await self.get(name, namespace=namespace, kind=kind)).job

        async def ask(connection: "AsyncConnection", cluster: str) -> "tuple[LogRecord, ...]":
            from kubedl.history.queries.logs import list_logs  # noqa: PLC0415

            return await list_logs(connection, cluster, job)

        return await self._ask(ask)

    async def _ask(self, question: "Callable[[AsyncConnection, str], Awaitable[T]]") -> T:
        return await self._in_thread(lambda: self._database.ask(question))


class History:
    """Jobs that ended or were deleted: `HistoryOperations` without an event loop."""

    def __init__(self, operations: HistoryOperations) -> None:
        self._operations = operations

    @property
    def is_known(self) -> bool:
        """Return whether a database is named, here or in the environment."""
        return self._operations.is_known

    list = blocking(HistoryOperations.list)
    get = blocking(HistoryOperations.get)
    find = blocking(HistoryOperations.find)
    receipt = blocking(HistoryOperations.receipt)
    statistics = blocking(HistoryOperations.statistics)
    logs = blocking(HistoryOperations.logs)
