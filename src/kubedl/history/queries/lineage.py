"""Where a model comes from: version, job, code, data, images."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from kubedl.api.model import MODEL_VERSIONS
from kubedl.history.queries.answers import JobDetail, JobSummary, Lineage, ObjectRecord, Trained
from kubedl.history.queries.jobs import answers, get_job
from kubedl.history.queries.scope import Scope
from kubedl.history.tables import job_bodies, jobs, objects

MOST_JOBS = 500


async def find_object(
    connection: AsyncConnection, cluster: str, kind: str, namespace: str, name: str
) -> ObjectRecord | None:
    """Return the newest object of a kind and name."""
    columns = objects.c
    query = select(objects).where(
        columns.cluster == cluster, columns.namespace == namespace, columns.kind == kind, columns.name == name
    )
    row = (await connection.execute(query.order_by(columns.created.desc()).limit(1))).first()
    return answers([row], ObjectRecord)[0] if row is not None else None


async def lineage(connection: AsyncConnection, cluster: str, namespace: str, version: str) -> Lineage | None:
    """Return where a ModelVersion comes from."""
    found = await find_object(connection, cluster, MODEL_VERSIONS.kind, namespace, version)
    if found is None:
        return None
    job = await get_job(connection, cluster, found.parent_uid) if found.parent_uid else None
    origin = found.body.get("spec", {}).get("origin", {})
    code = {"repository": origin.get("codeRepository", ""), "revision": origin.get("codeRevision", "")}
    return Lineage(
        version=found,
        job=job.job if job is not None else None,
        code=code if any(code.values()) else _spec(job.body if job is not None else {}, "codeSource"),
        data=_spec(job.body if job is not None else {}, "cacheBackend"),
        images=tuple(sorted(origin.get("trainerImages", {}).values())) or _images(job),
    )


async def trained(
    connection: AsyncConnection, cluster: str, uids: Collection[str], scope: Scope
) -> tuple[Trained, ...]:
    """Return jobs by their uids, with the code and data that they used: those that the caller may see."""
    same = and_(
        job_bodies.c.cluster == jobs.c.cluster, job_bodies.c.uid == jobs.c.uid, job_bodies.c.created == jobs.c.created
    )
    query = select(jobs, job_bodies.c.body).outerjoin(job_bodies, same)
    query = query.where(
        jobs.c.cluster == cluster,
        jobs.c.uid.in_(sorted(uids)[:MOST_JOBS]),
        scope.condition(jobs.c.kind, jobs.c.namespace),
    )
    rows = (await connection.execute(query)).all()
    return tuple(
        Trained(job=job, code=_spec(row.body or {}, "codeSource"), data=_spec(row.body or {}, "cacheBackend"))
        for job, row in zip(answers(rows, JobSummary), rows, strict=True)
    )


def _spec(body: dict[str, Any], field: str) -> dict[str, object] | None:
    found = body.get("spec", {}).get(field)
    return found if isinstance(found, dict) else None


def _images(job: JobDetail | None) -> tuple[str, ...]:
    roles = [part for part in job.body.get("spec", {}).values() if isinstance(part, dict)] if job is not None else []
    templates = [
        role["template"] for part in roles for role in part.values() if isinstance(role, dict) and "template" in role
    ]
    containers = [one for template in templates for one in template.get("spec", {}).get("containers", [])]
    return tuple(sorted({one["image"] for one in containers if one.get("image")}))
