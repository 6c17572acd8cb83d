"""Waiting for the image of the model that a job has left."""

from collections.abc import Callable
from contextlib import aclosing

from kubedl.client import watching
from kubedl.client.errors import Invalid, JobFailed, WaitTimeout
from kubedl.client.job import Job
from kubedl.client.job_lookup import Cluster
from kubedl.client.models import ModelVersion
from kubedl.client.objects import VERSIONS
from kubedl.kube.errors import ApiError

NONE_MADE = "no ModelVersion was created"  # the operator's words
FAILED = "ImageBuildFailed"


def check(job: Job) -> None:
    """Refuse to wait for a model that will never be."""
    if not (job.spec.get("modelVersion") or {}):
        steps = (f"kubedl wait {job.name}", "submit it with --model-name and --model-repo")
        raise Invalid(f"{job.name} makes no model", "its spec has no modelVersion", steps)
    if job.is_succeeded and NONE_MADE in job.message:
        raise JobFailed(f"{job.name} has left no model: {job.message}", job, None, (f"kubedl why {job.name}",))


async def wait_for_model(cluster: Cluster, job: Job, until: Callable[[], float]) -> None:
    """Wait until the image of a job's ModelVersion exists. Raises JobFailed if it cannot be built, and WaitTimeout."""
    name = str(job.status["modelVersionName"])
    path, selection = VERSIONS.path(job.namespace), {"fieldSelector": f"metadata.name={name}"}
    seen = False
    try:
        async with aclosing(watching.changes(cluster.client, path, selection, until)) as changes:
            async for found in changes:
                version = ModelVersion(found[0]) if found else None
                if version is None and seen:
                    raise JobFailed(f"the model of {job.name} was deleted: {name}", job, None)
                if version is not None and version.is_built:
                    return
                if version is not None and version.phase == FAILED:
                    said, steps = version.message or "its build failed", (f"kubedl why modelversion/{name}",)
                    raise JobFailed(f"{job.name} has no model image: {said}", job, None, steps)
                seen = seen or version is not None
    except ApiError as error:
        raise cluster.failed(error, f"watch modelversion/{name}") from error
    raise WaitTimeout(f"the image of {name} is not built in time", job, (f"kubedl why modelversion/{name}",))
