"""Migrations of the database schema, and the check that a process fits the schema that it finds.

`migrate` may be repeated and may be run by several processes at once. It ends with the newest schema, or with an error
and the old one; on MySQL, which commits every step, a migration that was interrupted is completed by the next call.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from kubedl.history import partitions

LOCK = 4_816_237_091  # of migrations, in PostgreSQL
LOCK_NAME = "kubedl-history-migration"  # in MySQL
LOCK_SECONDS = 300


class SchemaError(Exception):
    """The schema of the database does not fit this process."""


def newest_revision() -> str:
    """Return the newest schema that this version knows."""
    head = _scripts().get_current_head()
    if head is None:
        raise AssertionError("there is a first migration")
    return head


async def migrate(engine: AsyncEngine) -> None:
    """Bring the schema of the database up to date, and create the partitions of the coming months."""
    async with engine.connect() as connection:
        await connection.run_sync(_migrate)
        await connection.commit()


async def check(engine: AsyncEngine) -> None:
    """Raise SchemaError if this process must not write to the database."""
    async with engine.connect() as connection:
        found = await connection.run_sync(revision)
    complain(found)


def complain(found: str | None) -> None:
    """Raise SchemaError if a schema is not the newest that this version knows."""
    known, wanted = {script.revision for script in _scripts().walk_revisions()}, newest_revision()
    if found == wanted:
        return
    if found is None:
        raise SchemaError("the database has no history tables; run `kubedl recorder migrate`")
    if found not in known:
        raise SchemaError(
            f"the database has schema {found}, which is newer than this version of KubeDL, which knows up to {wanted}; "
            "use the version that migrated it"
        )
    raise SchemaError(f"the database has schema {found}, this version needs {wanted}; run `kubedl recorder migrate`")


def _migrate(connection: Connection) -> None:
    with _exclusively(connection):
        found = revision(connection)
        if found is not None and found not in {script.revision for script in _scripts().walk_revisions()}:
            complain(found)
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        partitions.create_missing(connection)


def revision(connection: Connection) -> str | None:
    """Return the schema of the database; None if there is none."""
    return MigrationContext.configure(connection).get_current_revision()


@contextmanager
def _exclusively(connection: Connection) -> Iterator[None]:
    """Hold a lock of the session, so that two processes never migrate at once; SQLite locks its file by itself."""
    family = connection.dialect.name
    if family == "postgresql":
        connection.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": LOCK})
    elif family == "mysql":
        held = connection.execute(
            text("SELECT GET_LOCK(:name, :seconds)"), {"name": LOCK_NAME, "seconds": LOCK_SECONDS}
        )
        if held.scalar() != 1:
            raise SchemaError("another process is migrating the database")
    try:
        yield
        connection.commit()
    finally:
        connection.rollback()
        if family == "postgresql":
            connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": LOCK})
        elif family == "mysql":
            connection.execute(text("SELECT RELEASE_LOCK(:name)"), {"name": LOCK_NAME})


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config
