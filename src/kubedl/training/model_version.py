"""The model version that a job leaves behind: made once, when the job has succeeded, and belonging to nobody.

It is made after the job's status says who has succeeded and before it says that the job has, under a name that follows
from the job: an operator that dies between the two finds it there and writes the status, whatever became of the pods.
Labels and `spec.origin` lead back to the job. A job whose writer never mounted the storage leaves none: what lies there
is not its model.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from kubedl.api.model import GROUP, MODEL_VERSIONS, ModelOutput, Origin
from kubedl.api.model_volumes import VOLUME
from kubedl.kube.client import Client
from kubedl.kube.errors import AlreadyExistsError, NotFoundError
from kubedl.runtime.writer import OccupiedError
from kubedl.training import labels
from kubedl.training.addons import code
from kubedl.training.addons.addon import AddonError
from kubedl.training.addons.model import writer
from kubedl.training.job import Job, Replica
from kubedl.training.kind import Kind
from kubedl.wire import codec
from kubedl.wire.core import PODS
from kubedl.wire.meta import Key, ObjectMeta, Record, Resource

MODEL_NAME = f"{GROUP}/model-name"  # a label, where the name is short enough for one
LONGEST_LABEL = 63
LONGEST_IMAGE = 1024
PULLABLE = "docker-pullable://"  # how some runtimes begin what they report


class Running(Record, frozen=True):
    """A container and the image that it was given, or that it got."""

    name: str = ""
    image: str = ""
    image_id: str = msgspec.field(name="imageID", default="")


class Mounted(Record, frozen=True):
    """A volume by its name."""

    name: str = ""


class Asked(Record, frozen=True):
    """What a pod was to run."""

    containers: tuple[Running, ...] = ()
    volumes: tuple[Mounted, ...] | None = ()


class Got(Record, frozen=True):
    """What a pod ran."""

    container_statuses: tuple[Running, ...] | None = ()


class RunPod(Record, frozen=True):
    """A pod with its images and volumes, which no cache keeps."""

    metadata: ObjectMeta = ObjectMeta()
    spec: Asked = Asked()
    status: Got = Got()


RUN_PODS = Resource(RunPod, PODS.kind, PODS.plural)
FirstPods = Mapping[str, RunPod]  # role → its pod of index 0, where there still is one


def name_of(job: Job) -> str:
    """Of the version."""
    return f"mv-{job.name}-{job.uid[:5]}"


async def leave(client: Client, kind: Kind, job: Job, commit: str) -> bool:
    """Make the version, or recognise it when it is there already; raises OccupiedError if it is somebody else's.

    Returns whether there is one.
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
        found = await client.get(MODEL_VERSIONS, Key(job.namespace, name_of(job)))
        if found.metadata.labels.get(labels.JOB_UID) != job.uid:
            raise OccupiedError(MODEL_VERSIONS.kind, found.metadata.name) from None
    return True


def render(kind: Kind, job: Job, images: dict[str, str], commit: str) -> dict[str, Any]:
    """The version as it is sent to the API server."""
    wish: ModelOutput = job.spec.model_version
    origin = Origin(
        job_kind=kind.kind,
        job_name=job.name,
        job_uid=job.uid,
        trainer_images=images,
        code_repository=_repository(job),
        code_revision=commit or code.revision(job.made),
    )
    model = {MODEL_NAME: wish.model_name} if len(wish.model_name) <= LONGEST_LABEL else {}
    return {
        "apiVersion": MODEL_VERSIONS.api_version,
        "kind": MODEL_VERSIONS.kind,
        "metadata": {
            "name": name_of(job),
            "namespace": job.namespace,
            "labels": {**labels.of_job(job), **model},
        },
        "spec": {
            **codec.plain(wish),
            "createdBy": wish.created_by or job.name,
            "origin": codec.plain(origin),
        },
    }


async def first_pods(client: Client, job: Job) -> FirstPods:
    """Ask the API server for the first pod of each role."""
    found: dict[str, RunPod] = {}
    for role in (role for role in job.roles if role in job):
        with suppress(NotFoundError):
            pod = await client.get(RUN_PODS, Key(job.namespace, job.pod_name(Replica(role, 0))))
            reference = pod.metadata.controller
            if reference is not None and reference.uid == job.uid:
                found[role] = pod
    return found


def trained_with(job: Job, pods: FirstPods) -> dict[str, str]:
    """The image of each role's main container, as it was written and as it ran; one that is not known is left out."""
    found: dict[str, str] = {}
    for pod in pods.values():
        asked = next((one.image for one in pod.spec.containers if one.name == job.container), "")
        got = next((one.image_id for one in pod.status.container_statuses or () if one.name == job.container), "")
        got = got.removeprefix(PULLABLE)
        if asked and "@sha256:" in got and len(got) <= LONGEST_IMAGE:
            found[asked] = got
    return found


def _repository(job: Job) -> str:
    try:
        wish = code.wish(job.made)
    except AddonError:
        return ""
    return wish[0].repository if wish is not None else ""
