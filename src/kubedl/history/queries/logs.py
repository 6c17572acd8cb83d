"""Where the archived logs of a job are."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from kubedl.history.queries.answers import Answer
from kubedl.history.queries.jobs import MOST_PODS, answers
from kubedl.history.tables import pods


class LogRecord(Answer, frozen=True):
    """The last stored log of a pod; `log_location` is None if there is none."""

    uid: str
    name: str
    role: str
    replica_index: int
    attempt: int
    exit_code: int | None
    created: datetime
    log_location: str | None
    log_restart: int | None
    log_cut: bool | None


async def list_logs(
    connection: AsyncConnection, cluster: str, job_uid: str, job_created: datetime
) -> tuple[LogRecord, ...]:
    """Return the pods of a job in the order in which they were created, each with the place of its log."""
    # Pods are younger than their job, so older partitions are not read.
    query = select(pods).where(pods.c.cluster == cluster, pods.c.job_uid == job_uid, pods.c.created >= job_created)
    rows = (await connection.execute(query.order_by(pods.c.created, pods.c.uid).limit(MOST_PODS))).all()
    return answers(rows, LogRecord)
