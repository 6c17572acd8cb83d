"""Jobs that were deleted, from the database of the history, as rows of a list."""

from datetime import datetime
from typing import TYPE_CHECKING

from kubedl.cli.history_database import Database
from kubedl.client import JobSummary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from kubedl.client.job_list import JobSelection
    from kubedl.history.queries.answers import JobSummary as Recorded

PAGE = 500
MOST = 500  # rows, unless a limit is given
MOST_PAGES = 20  # jobs that are still there are on them too


def gone_jobs(
    database: Database, wanted: "JobSelection", kind: str, oldest: datetime | None, limit: int | None
) -> tuple[list[JobSummary], bool]:
    """Return the newest jobs that were deleted, and whether there may be more; `kind` is as the server spells it."""
    most = limit or MOST
    states: Sequence[str] = [state.capitalize() for state in wanted.states] or [""]

    async def ask(connection: "AsyncConnection", cluster: str) -> tuple[list[JobSummary], bool]:
        from kubedl.history.queries.jobs import JobFilter, list_jobs  # noqa: PLC0415 - few commands ask

        found: list[JobSummary] = []
        more = False
        for state in states:
            chosen = JobFilter(
                namespaces=(wanted.namespace,) if wanted.namespace else None,
                kind=kind,
                user=wanted.user or "",
                queue=wanted.queue or "",
                state=state,
                created_from=oldest,
            )
            cursor, own = "", []
            for _ in range(MOST_PAGES):
                page = await list_jobs(connection, cluster, chosen, cursor=cursor, limit=PAGE)
                own += [_summary(job) for job in page.jobs if job.deleted is not None]
                cursor = page.next
                if not cursor or len(own) >= most:
                    break
            more = more or bool(cursor) or len(own) > most
            found += own[:most]
        return found, more

    return database.ask(ask)


def _summary(job: "Recorded") -> JobSummary:
    return JobSummary(
        name=job.name,
        namespace=job.namespace,
        kind=job.kind,
        state=job.state,
        ready="",
        gpus=job.gpus or None,
        queue=job.queue,
        created=job.created,
        message=job.reason,
        restarts=job.restarts,
        model_version=job.model_version,
        uid=job.uid,
        user=job.user_name,
        gone=True,
    )
