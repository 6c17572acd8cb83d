"""Jobs that were deleted, from the database of the history. Its packages are an extra, loaded when one is asked for."""

import logging
import os
import threading
from typing import TYPE_CHECKING, Any

from kubedl.client.job import Job

if TYPE_CHECKING:
    from kubedl.history.queries.answers import JobDetail

DATABASE, CLUSTER = "KUBEDL_HISTORY_DATABASE", "KUBEDL_HISTORY_CLUSTER"
DEFAULT_CLUSTER = "kubedl"

log = logging.getLogger("kubedl.client")


def find(namespace: str, name: str, kind: str = "") -> Job | None:
    """Return the newest job of a name; None if there is none, no database is named, or it does not answer.

    The question needs an event loop, and the caller may have one: it is asked in a thread.
    """
    if not os.environ.get(DATABASE):
        return None
    found: list[Job | None] = []

    def ask() -> None:
        try:
            found.append(_ask(namespace, name, kind))
        except Exception as error:  # noqa: BLE001 - whatever a database says, the job is not found
            log.warning("the history does not answer: %s", str(error).partition("\n")[0][:300])

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join()
    return found[0] if found else None


def _ask(namespace: str, name: str, kind: str) -> Job | None:
    import asyncio  # noqa: PLC0415 - commands need none

    from kubedl.history.engine import create_engine, url_from  # noqa: PLC0415
    from kubedl.history.queries.jobs import find_job  # noqa: PLC0415

    async def run() -> "JobDetail | None":
        engine = create_engine(url_from(None), connections=1)
        try:
            async with engine.connect() as connection:
                cluster = os.environ.get(CLUSTER) or DEFAULT_CLUSTER
                return await find_job(connection, cluster, namespace, name, kind)
        finally:
            await engine.dispose()

    detail = asyncio.run(run())
    return _job(detail) if detail is not None else None


def _job(detail: "JobDetail") -> Job:
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
