"""The database of the history, and how it is asked. Its packages are an extra, and loaded with the first question."""

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from kubedl.client.errors import Invalid, KubedlError, NotSupported, Unreachable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sqlalchemy.ext.asyncio import AsyncConnection

T = TypeVar("T")
DATABASE, CLUSTER = "KUBEDL_HISTORY_DATABASE", "KUBEDL_HISTORY_CLUSTER"
DEFAULT_CLUSTER = "kubedl"
LONGEST_QUOTE = 300  # characters of a driver's words


@dataclass(frozen=True)
class HistoryDatabase:
    """A database, and the name of the cluster in it; both are by default those of the environment."""

    file: str = ""  # with the address; empty: $KUBEDL_HISTORY_DATABASE has it
    cluster: str = ""

    @property
    def is_named(self) -> bool:
        """Return whether there is one to ask."""
        return bool(self.file or os.environ.get(DATABASE))

    def ask(self, question: "Callable[[AsyncConnection, str], Awaitable[T]]") -> T:
        """Return the answer to a question, which gets a connection and the cluster's name.

        Raises NotSupported if the packages are not installed, Unreachable if the database does not answer, Invalid if
        the question is wrong, and KubedlError if no database is named. The drivers need an event loop, and the caller
        may have one: the question is asked in a thread.
        """
        answers: list[T] = []
        failures: list[BaseException] = []

        def run() -> None:
            try:
                answers.append(self._ask(question))
            except BaseException as error:  # noqa: BLE001 - raised where the question was asked
                failures.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join()
        if failures:
            raise failures[0]
        return answers[0]

    def _ask(self, question: "Callable[[AsyncConnection, str], Awaitable[T]]") -> T:
        try:
            from kubedl.history.engine import DatabaseUrlError, create_engine, failures, url_from  # noqa: PLC0415
        except ImportError as error:
            extra = ("pip install 'kubedl[history]'",)
            raise NotSupported("the history needs more packages", str(error), extra) from error
        import asyncio  # noqa: PLC0415 - of all commands only those that ask this have an event loop

        async def run() -> T:
            engine = create_engine(url_from(self.file or None), connections=1)
            try:
                async with engine.connect() as connection:
                    return await question(connection, self.cluster or os.environ.get(CLUSTER) or DEFAULT_CLUSTER)
            finally:
                await engine.dispose()

        try:
            return asyncio.run(run())
        except DatabaseUrlError as error:
            steps = (f"set {DATABASE}: docs/how-to/keep-history.md", "kubedl list")
            raise KubedlError("no history is known here", str(error), steps) from error
        except ValueError as error:  # of a query: a range that is too long
            raise Invalid(
                "the history cannot answer that", str(error), ("ask for less, such as --since 30d",)
            ) from error
        except failures() as error:
            why = str(error).partition("\n")[0][:LONGEST_QUOTE]
            raise Unreachable("the database of the history does not answer", why, ("check its address",)) from error
