"""The number of workers of a job: which role it is, and whether a Master counts."""

from typing import Any

from kubedl.client.errors import Invalid, NotFound
from kubedl.client.job import Job

WORKER, MASTER = "Worker", "Master"
LED = ("PyTorchJob", "XGBoostJob")  # their Master trains too


def count(job: Job) -> int:
    """Return the number of workers of a job; where a Master trains too, it is one of them."""
    replicas = {name.lower(): int(role.get("replicas", 1)) for name, role in job.roles.items()}
    led = replicas.get(MASTER.lower(), 0) if job.kind in LED else 0
    return replicas.get(WORKER.lower(), 0) + led


def is_in_place(job: Job) -> bool:
    """Return whether the job can be resized as it is, without being suspended: it is elastic, or has no pods."""
    policy = job.spec.get("elasticPolicy") or {}  # of a PyTorchJob; without bounds its size is fixed
    is_elastic = job.spec.get("elastic") or "minReplicas" in policy or "maxReplicas" in policy
    return bool(is_elastic or job.spec.get("suspend") or job.is_finished)


def change(job: Job, workers: int) -> dict[str, Any]:
    """Return the change of the spec that gives a job so many workers."""
    if job.is_finished:
        steps = (f"kubedl rerun {job.name} --set workers={workers}", f"kubedl get {job.name}")
        raise Invalid(f"{job.name} has ended", "its workers will not run again", steps)
    return resized(job, workers)


def resized(job: Job, workers: int) -> dict[str, Any]:
    """Return the change of the spec, whatever the state of the job."""
    roles = {name.lower(): name for name in job.roles}
    field = next((name for name, value in job.spec.items() if value is job.roles), "")
    if WORKER.lower() not in roles and job.kind in LED and MASTER.lower() in roles:
        template = job.roles[roles[MASTER.lower()]]["template"]
        return {field: {WORKER: {"replicas": workers - 1, "template": template}}} if workers > 1 else {}
    if WORKER.lower() not in roles:
        raise NotFound(f"{job.name} has no workers", f"its roles are {', '.join(job.roles) or 'none'}")
    counted = 1 if job.kind in LED and MASTER.lower() in roles else 0
    if workers < counted:
        raise Invalid(f"{job.name} needs at least {counted} worker", "its Master is one of them")
    return {field: {roles[WORKER.lower()]: {"replicas": workers - counted}}}
