"""The ModelVersion of a job: created once, when the job has succeeded, without an owner reference.

It is created after the status records the succeeded replicas and before it says that the job has succeeded, with a name
derived from the job. An operator that is killed in between finds it and continues, whatever happened to the pods.
Labels and `spec.origin` refer to the job. If the writing replica never mounted the storage, no version is created: the
files there are not this job's model.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from kubedl.api.model import GROUP, MODEL_VERSIONS, ModelOutput, Origin
from kubedl.kube import codec
from kubedl.kube.client import Client
from kubedl.kube.errors import AlreadyExistsError, NotFoundError
from kubedl.kube.types.core import PODS
from kubedl.kube.types.meta import ObjectKey, ObjectMeta, Record, Resource
from kubedl.podspec.model_volumes import VOLUME
from kubedl.runtime.writer import NameConflictError
from kubedl.training import labels
from kubedl.training.addons import code_source
from kubedl.training.addons.base import AddonError
from kubedl.training.addons.model_storage import writer
from kubedl.training.job import Job, Replica
from kubedl.training.kind import Kind

MODEL_NAME = f"{GROUP}/model-name"  # label, if the name is short enough
LONGEST_LABEL = 63
LONGEST_IMAGE = 1024
PULLABLE = "docker-pullable://"  # prefix in the image ids of some runtimes


class Running(Record, frozen=True):
    """A container with its image, as specified or as running."""

    name: str = ""
    image: str = ""
    image_id: str = msgspec.field(name="imageID", default="")


class Mounted(Record, frozen=True):
    """A volume, by name."""

    name: str = ""


class Asked(Record, frozen=True):
    """Spec of a pod."""

    containers: tuple[Running, ...] = ()
    volumes: tuple[Mounted, ...] | None = ()


class Got(Record, frozen=True):
    """Status of a pod."""

    container_statuses: tuple[Running, ...] | None = ()


class RunPod(Record, frozen=True):
    """A pod with images and volumes, which the informer cache does not keep."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Asked = Asked()
    status: Got = Got()


RUN_PODS = Resource(RunPod, PODS.kind, PODS.plural)
FirstPods = Mapping[str, RunPod]  # role → its pod of index 0, if it still exists


def model_version_name(job: Job) -> str:
    """Return the name of the version."""
    return f"mv-{job.name}-{job.uid[:5]}"


async def create_model_version(client: Client, kind: Kind, job: Job, commit: str) -> bool:
    """Create the version, or recognise the existing one; raises NameConflictError if it belongs to another job.

    Returns whether it exists.
    """
    pods = await first_pods(client, job)
    wrote = writer(job)
    pod = pods.get(wrote.role) if wrote is not None else None
    if wrote is None or (pod is not None and all(volume.name != VOLUME for volume in pod.spec.volumes or ())):
        return False
    body = render(kind, job, trained_with(job, pods), commit)
    try:
        await client.create(MODEL_VERSIONS, job.namespace, body)
    except AlreadyExistsError:
        version = await client.get(MODEL_VERSIONS, ObjectKey(job.namespace, model_version_name(job)))
        if version.metadata.labels.get(labels.JOB_UID) != job.uid:
            raise NameConflictError(MODEL_VERSIONS.kind, version.metadata.name) from None
    return True


def render(kind: Kind, job: Job, images: dict[str, str], commit: str) -> dict[str, Any]:
    """Render the version."""
    output: ModelOutput = job.spec.model_version
    origin = Origin(
        job_kind=kind.kind,
        job_name=job.name,
        job_uid=job.uid,
        trainer_images=images,
        code_repository=_repository(job),
        code_revision=commit or code_source.revision(job.resource),
    )
    model = {MODEL_NAME: output.model_name} if len(output.model_name) <= LONGEST_LABEL else {}
    return {
        "apiVersion": MODEL_VERSIONS.api_version,
        "kind": MODEL_VERSIONS.kind,
        "metadata": {
            "name": model_version_name(job),
            "namespace": job.namespace,
            "labels": {**labels.of_job(job), **model},
        },
        "spec": {
            **codec.plain(output),
            "createdBy": output.created_by or job.name,
            "origin": codec.plain(origin),
        },
    }


async def first_pods(client: Client, job: Job) -> FirstPods:
    """Get the first pod of each role from the API server."""
    found: dict[str, RunPod] = {}
    for role in (role for role in job.roles if role in job):
        with suppress(NotFoundError):
            pod = await client.get(RUN_PODS, ObjectKey(job.namespace, job.pod_name(Replica(role, 0))))
            reference = pod.metadata.controller
            if reference is not None and reference.uid == job.uid:
                found[role] = pod
    return found


def trained_with(job: Job, pods: FirstPods) -> dict[str, str]:
    """Return the image of each role's main container, as written and as running; unknown ones are omitted."""
    found: dict[str, str] = {}
    for pod in pods.values():
        asked = next((running.image for running in pod.spec.containers if running.name == job.container), "")
        got = next((one.image_id for one in pod.status.container_statuses or () if one.name == job.container), "")
        got = got.removeprefix(PULLABLE)
        if asked and "@sha256:" in got and len(got) <= LONGEST_IMAGE:
            found[asked] = got
    return found


def _repository(job: Job) -> str:
    try:
        source = code_source.requested_source(job.resource)
    except AddonError:
        return ""
    return source[0].repository if source is not None else ""
