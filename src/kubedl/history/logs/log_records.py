"""Where logs are, on the rows of their pods: written by the archive alone, and kept when the row is replaced."""

from sqlalchemy import ColumnElement, or_, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from kubedl.history.logs.container_run import ContainerRun
from kubedl.history.logs.log_archive import StoredLog
from kubedl.history.sinks.database import transaction
from kubedl.history.tables import pods


class LogRecords:
    """The rows of one cluster."""

    def __init__(self, engine: AsyncEngine, cluster: str) -> None:
        self._engine, self._cluster = engine, cluster

    async def newest(self, run: ContainerRun) -> int | None:
        """Return the restart of the newest stored log of a pod; None if there is none."""
        async with transaction(self._engine) as connection:
            found = (await connection.execute(select(pods.c.log_restart).where(*self._row(run)))).scalar()
        return int(found) if found is not None else None

    async def record(self, run: ContainerRun, stored: StoredLog) -> bool:
        """Record a log, unless that of a later run is recorded; returns whether the pod has a row."""
        older = or_(pods.c.log_restart.is_(None), pods.c.log_restart <= stored.restart)
        values = {"log_location": stored.location, "log_restart": stored.restart, "log_cut": stored.cut}
        async with transaction(self._engine) as connection:
            done = await connection.execute(update(pods).where(*self._row(run), older).values(values))
            if done.rowcount:
                return True
            return (await connection.execute(select(pods.c.uid).where(*self._row(run)))).first() is not None

    def _row(self, run: ContainerRun) -> tuple[ColumnElement[bool], ...]:
        return pods.c.cluster == self._cluster, pods.c.uid == run.uid, pods.c.created == run.created
