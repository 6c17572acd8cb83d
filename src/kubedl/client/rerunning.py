"""Jobs that run again: copies of what a job was, under another name or in its place."""

import copy
import itertools
import secrets
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kubedl.client.code_jobs import CONFIG_MAPS
from kubedl.client.errors import AlreadyExists, KubedlError, NotFound
from kubedl.client.job import Job
from kubedl.client.replicas import JOB_NAME
from kubedl.client.volume_names import CONFIG_FILES, FILES

if TYPE_CHECKING:
    from kubedl.client.replica_operations import ReplicaOperations

CRON_NAME = "kubedl.io/cron-name"  # label of the runs of a Cron
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MOST_NAMES = 100
DELETION = 300.0  # seconds


def copy_of(job: Job) -> dict[str, Any]:
    """Return the manifest of a job as it can be created again: its spec, labels and annotations."""
    metadata: dict[str, Any] = {"name": job.name, "namespace": job.namespace}
    dropped = {"labels": CRON_NAME, "annotations": LAST_APPLIED}
    for part, name in dropped.items():
        kept = {key: value for key, value in (job.metadata.get(part) or {}).items() if key != name}
        metadata |= {part: kept} if kept else {}
    spec = {key: value for key, value in job.spec.items() if key != "suspend"}
    version = job.manifest.get("apiVersion")
    return {"apiVersion": version, "kind": job.kind, "metadata": metadata, "spec": copy.deepcopy(spec)}


def names_after(name: str) -> Iterator[str]:
    """Yield the names of later runs: bert-r2, bert-r3; after bert-r2, bert-r3."""
    start, dash, number = name.rpartition("-r")
    is_run = bool(dash) and number.isdecimal() and int(number[:6]) >= 2
    first = int(number) + 1 if is_run else 2
    return (f"{start if is_run else name}-r{one}" for one in itertools.count(first))


def renamed(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a job under another name, also where its pods select one another by it. The manifest is changed."""
    _rename(manifest["spec"], manifest["metadata"]["name"], name)
    manifest["metadata"]["name"] = name
    return manifest


def _rename(value: object, old: str, new: str) -> None:
    if isinstance(value, dict):
        if value.get(JOB_NAME) == old:
            value[JOB_NAME] = new
        for one in value.values():
            _rename(one, old, new)
    elif isinstance(value, list):
        for one in value:
            _rename(one, old, new)


def unlikely_name(job: Job) -> str:
    """Return a name that nobody has, no longer than the job's if that is possible: to ask whether it would be taken."""
    return f"{job.name[:-5].rstrip('-.') or 'j'}-{secrets.token_hex(2)}"


async def create_free(
    operations: "ReplicaOperations", manifests: Iterable[dict[str, Any]], *, dry_run: bool = False, strict: bool = False
) -> Job:
    """Create the first job whose name is free."""
    taken: AlreadyExists | None = None
    for manifest in itertools.islice(manifests, MOST_NAMES):
        try:
            return await _create(operations, manifest, dry_run=dry_run, strict=strict)
        except AlreadyExists as error:
            taken = error
    raise taken or AssertionError("there is at least one name")


async def replace(operations: "ReplicaOperations", job: Job, manifest: dict[str, Any]) -> Job:
    """Delete a job, and create another one of its name. Code that was sent with it is kept for the new one."""
    for name in _files(manifest):
        await _own(operations, job.namespace, name, None)
    full = f"{job.word}/{job.name}"
    try:
        await operations.delete_job(full, namespace=job.namespace, uid=job.uid)
        await operations.wait_for_job_status(full, ("deleted",), namespace=job.namespace, timeout=DELETION)
    except NotFound:  # it is gone already
        pass
    return await _create(operations, manifest)


async def _create(
    operations: "ReplicaOperations", manifest: dict[str, Any], *, dry_run: bool = False, strict: bool = False
) -> Job:
    job = await operations.create_manifest(manifest, dry_run=dry_run, strict=strict)
    if not dry_run:
        for name in _files(manifest):
            await _own(operations, job.namespace, name, job)
    return job


def _files(manifest: dict[str, Any]) -> list[str]:
    """Return the ConfigMaps with code and files that a job mounts."""
    found: dict[str, None] = {}
    for role in Job.of(manifest).roles.values():
        for volume in role.get("template", {}).get("spec", {}).get("volumes") or ():
            if volume.get("name") in (FILES, CONFIG_FILES) and volume.get("configMap"):
                found[str(volume["configMap"]["name"])] = None
    return list(found)


async def _own(operations: "ReplicaOperations", namespace: str, name: str, job: Job | None) -> None:
    """Give a ConfigMap to one more job; or to nobody, so that it is not deleted with its job."""
    objects = operations.objects_in(namespace)
    try:
        found = await objects.get(CONFIG_MAPS, name)
    except NotFound as error:
        raise KubedlError(
            "the code that was sent with the job is gone", error.message, ("kubedl run again",)
        ) from error
    owners = found["metadata"].get("ownerReferences") or [] if job is not None else []
    if job is not None:
        owners = [
            *owners,
            {"apiVersion": job.manifest["apiVersion"], "kind": job.kind, "name": job.name, "uid": job.uid},
        ]
    version = found["metadata"]["resourceVersion"]
    await objects.patch(
        CONFIG_MAPS, name, {"metadata": {"resourceVersion": version, "ownerReferences": owners or None}}
    )
