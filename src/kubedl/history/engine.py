"""Connections to the database of the history: PostgreSQL, MySQL or MariaDB, SQLite for one person."""

import os
import sqlite3
import sys
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

ENVIRONMENT = "KUBEDL_HISTORY_DATABASE"
SECONDS = 30.0  # of one statement, but for migrations: an index of a large table takes minutes
CONNECT_SECONDS = 10.0
DRIVERS = {
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
    "mysql": "mysql+asyncmy",
    "mariadb": "mysql+asyncmy",
    "sqlite": "sqlite+aiosqlite",
}
# Statistics with many groups would go to the disk: a temporary table in memory has texts at their full length.
_GROUPS_IN_MEMORY = 128 << 20  # bytes
_MYSQL_SESSION = (
    f"SET time_zone = '+00:00', tmp_table_size = {_GROUPS_IN_MEMORY}, max_heap_table_size = {_GROUPS_IN_MEMORY}"
)
_READ_ONLY = {"mysql": "SET SESSION TRANSACTION READ ONLY", "sqlite": "PRAGMA query_only=ON"}
EXAMPLE = "postgresql://user:password@host/database, mysql://… or sqlite:///file"


class DatabaseUrlError(Exception):
    """The address of the database is missing or invalid. The message does not repeat it: it has a password."""


def failures() -> tuple[type[Exception], ...]:
    """Return what a database that is away or ends raises, for `except`.

    SQLAlchemy passes on what asyncpg itself raises while a new connection is set up, if the server ends just then.
    """
    driver = sys.modules.get("asyncpg")
    own = (driver.PostgresError, driver.InterfaceError) if driver is not None else ()
    return (SQLAlchemyError, OSError, *own)


def url_from(file: str | None) -> URL:
    """Return the address in a file, or in the environment variable KUBEDL_HISTORY_DATABASE."""
    if file is not None:
        try:
            text = Path(file).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise DatabaseUrlError(f"cannot read {file}: {error}") from error
    else:
        text = os.environ.get(ENVIRONMENT, "").strip()
    if not text:
        raise DatabaseUrlError(f"no database: set {ENVIRONMENT} or --database-file, for example to {EXAMPLE}")
    return parse_url(text)


def parse_url(text: str) -> URL:
    """Return the address with the driver that is used for its database."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise DatabaseUrlError(f"the address of the database is not a URL such as {EXAMPLE}") from None
    family = url.get_backend_name() if "+" in url.drivername else url.drivername
    if family not in DRIVERS:
        raise DatabaseUrlError(f"{family} is none of the databases {', '.join(DRIVERS)}")
    url = url.set(drivername=DRIVERS[family])
    if url.get_backend_name() == "postgresql" and (mode := url.query.get("sslmode")):  # as everybody but asyncpg says
        url = url.difference_update_query(["sslmode"])
        url = url.set(query={"ssl": mode, **url.query})
    return url


def create_engine(
    url: URL, *, connections: int = 4, read_only: bool = False, seconds: float | None = SECONDS
) -> AsyncEngine:
    """Return an engine whose connections speak UTC and give up instead of hanging; if asked, one that only reads."""
    options: dict[str, Any] = {}
    family = url.get_backend_name()
    if family == "postgresql":
        options["connect_args"] = {
            "timeout": CONNECT_SECONDS,
            "command_timeout": seconds,
            "server_settings": {
                "timezone": "UTC",
                "application_name": "kubedl-reader" if read_only else "kubedl-recorder",
            },
        }
        if read_only:  # said with every BEGIN: a setting of the session would stay with a pooler's connection
            options["execution_options"] = {"postgresql_readonly": True}
    elif family == "mysql":
        options["connect_args"] = {"connect_timeout": CONNECT_SECONDS, "init_command": _MYSQL_SESSION}
    if family != "sqlite":
        options |= {"pool_size": connections, "max_overflow": 0, "pool_recycle": 1800}
    engine = create_async_engine(url, **options)
    if family == "sqlite":
        event.listen(engine.sync_engine, "connect", _configure_sqlite)
    if read_only and family in _READ_ONLY:
        event.listen(engine.sync_engine, "connect", partial(_say, _READ_ONLY[family]))
    return engine


def _say(statement: str, connection: Any, _: object) -> None:  # noqa: ANN401 - of any driver
    cursor = connection.cursor()
    cursor.execute(statement)
    cursor.close()


def _configure_sqlite(connection: sqlite3.Connection, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA busy_timeout=10000")
    cursor.close()
