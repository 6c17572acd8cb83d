"""Jobs that were deleted, in the forms of jobs that are there: what the history has recorded of them."""

import logging
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kubedl.client.errors import KubedlError
from kubedl.client.history_operations import HistoryOperations
from kubedl.client.job import Job, JobSummary

if TYPE_CHECKING:
    from kubedl.client.job_list import JobSelection
    from kubedl.history.queries.answers import JobDetail
    from kubedl.history.queries.answers import JobSummary as Recorded

PAGE = 500
MOST = 500  # rows, unless a limit is given
MOST_PAGES = 20  # jobs that are still there are on them too

log = logging.getLogger("kubedl.client")


async def find_gone(history: HistoryOperations, name: str, namespace: str, kind: str) -> Job | None:
    """Return the newest job of a name; None if there is none, no database is named, or it does not answer."""
    if not history.is_known:
        return None
    try:
        detail = await history.find(name, namespace=namespace, kind=kind)
    except KubedlError as error:  # the job is not found, whatever a database says
        log.warning("%s: %s", error.message, error.why)
        return None
    return job_of(detail) if detail is not None else None


async def list_gone(
    history: HistoryOperations, wanted: "JobSelection", kind: str, oldest: datetime | None, limit: int | None
) -> tuple[list[JobSummary], bool]:
    """Return the newest jobs that were deleted, and whether there may be more; `kind` is as the server spells it."""
    most, found, more = limit or MOST, list[JobSummary](), False
    for state in wanted.states or ("",):
        after, own = "", list[JobSummary]()
        for _ in range(MOST_PAGES):
            page = await history.list(
                namespace=wanted.namespace or None,
                all_namespaces=not wanted.namespace,
                kind=kind,
                state=state,
                queue=wanted.queue or "",
                user=wanted.user or "",
                since=oldest,
                limit=PAGE,
                after=after,
            )
            own += [_summary(job) for job in page.jobs if job.deleted is not None]
            after = page.next
            if not after or len(own) >= most:
                break
        more = more or bool(after) or len(own) > most
        found += own[:most]
    return found, more


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


def job_of(detail: "JobDetail") -> Job:
    """Return what was recorded as the server had it."""
    known, body = detail.job, detail.body
    metadata: dict[str, Any] = {
        **(body.get("metadata") or {}),
        "name": known.name,
        "namespace": known.namespace,
        "uid": known.uid,
        "creationTimestamp": known.created.isoformat(),
    }
    status: dict[str, Any] = {
        "state": known.state,
        "message": known.reason,
        "conditions": [{"type": known.state, "status": "True", "message": known.reason}],
        **(body.get("status") or {}),
    }
    for field, moment in (("startTime", known.started), ("completionTime", known.finished)):
        if moment is not None:
            status.setdefault(field, moment.isoformat())
    manifest = {**body, "kind": known.kind, "metadata": metadata, "status": status}
    return Job(manifest, known.kind, known.name, known.namespace, gone=True)
