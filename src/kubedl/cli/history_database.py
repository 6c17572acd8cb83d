"""Questions of commands to the database of the history. Its packages are an extra, and loaded when a command asks."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kubedl.cli import configuration

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection

T = TypeVar("T")
VARIABLE = "KUBEDL_HISTORY_DATABASE"
CLUSTER = "KUBEDL_HISTORY_CLUSTER"
DEFAULT_CLUSTER = "kubedl"


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that name the database."""
    file = click.option("--database-file", metavar="FILE", help=f"File with the address; by default ${VARIABLE}.")
    named = click.option(
        "--history-cluster", metavar="NAME", help=f"The cluster's name in it; by default ${CLUSTER}, or kubedl."
    )
    return file(named(function))


def _file() -> str | None:
    """Return the file of the settings, which the address in the environment replaces."""
    return None if os.environ.get(VARIABLE) else configuration.text("history-database-file")


@dataclass(frozen=True)
class Database:
    """A database, and the name of the cluster in it."""

    file: str | None
    cluster: str | None

    def ask(self, question: "Callable[[AsyncConnection, str], Awaitable[T]]") -> T:
        """Return the answer to a question. Raises NotSupported if its packages are not installed."""
        from kubedl.client.errors import Invalid, KubedlError, NotSupported, Unreachable  # noqa: PLC0415 - help needs none

        try:
            from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415

            from kubedl.history.engine import DatabaseUrlError, create_engine, url_from  # noqa: PLC0415
        except ImportError as error:
            extra = ("pip install 'kubedl[history]'",)
            raise NotSupported("the history needs more packages", str(error), extra) from error
        import asyncio  # noqa: PLC0415 - of all commands only these have an event loop

        name = self.cluster or configuration.text("history-cluster") or DEFAULT_CLUSTER

        async def run() -> T:
            engine = create_engine(url_from(self.file or _file()), connections=1)
            try:
                async with engine.connect() as connection:
                    return await question(connection, name)
            finally:
                await engine.dispose()

        try:
            return asyncio.run(run())
        except DatabaseUrlError as error:
            steps = (f"set {VARIABLE}: docs/how-to/keep-history.md", "kubedl list")
            raise KubedlError("no history is known here", str(error), steps) from error
        except ValueError as error:  # of a query: a range that is too long
            raise Invalid(
                "the history cannot answer that", str(error), ("ask for less, such as --since 30d",)
            ) from error
        except (SQLAlchemyError, OSError) as error:
            why = str(error).partition("\n")[0][:300]
            raise Unreachable("the database of the history does not answer", why, ("check its address",)) from error
