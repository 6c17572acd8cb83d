"""What can be deleted: jobs that ended long ago, and code that was sent for jobs that are gone or never came to be."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from kubedl.client.code_archive import LABEL
from kubedl.client.code_jobs import CONFIG_MAPS
from kubedl.client.errors import Forbidden
from kubedl.client.job import Job, parse_time
from kubedl.client.kinds import GROUP_VERSION
from kubedl.client.objects import CRONS, ObjectOperations, Resource
from kubedl.kube.errors import ApiError, ConflictError, NotFoundError

if TYPE_CHECKING:
    from kubedl.client.job_lookup import Cluster

FRESH = timedelta(hours=1)  # a job may be about to be created for its code


@dataclass(frozen=True)
class Prunable:
    """An object that can be deleted."""

    resource: Resource
    kind: str
    name: str
    namespace: str
    uid: str
    since: datetime
    why: str

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name}"


async def find(
    cluster: "Cluster",
    namespace: str,
    *,
    now: datetime,
    older_than: timedelta,
    states: Collection[str],
    selector: str | None = None,
    all_namespaces: bool = False,
) -> list[Prunable]:
    """Return what can be deleted, the oldest first. Runs of a Cron are left to its history limit."""
    objects, params = ObjectOperations(cluster, namespace), {"labelSelector": selector} if selector else {}
    resources = {kind.kind: Resource("job", kind.plural, GROUP_VERSION) for kind in await cluster.kinds()}

    async def jobs_of(kind: str, resource: Resource) -> list[Prunable]:
        found = await objects.list_all(resource, all_namespaces=all_namespaces, params=params)
        jobs = [Job.of({"apiVersion": GROUP_VERSION, "kind": kind, **one}) for one in found]
        return [_job(resource, job) for job in jobs if _is_old(job, states, now - older_than)]

    found = await cluster.client.together([jobs_of(kind, one) for kind, one in resources.items()])
    prunable = [one for of_kind in found for one in of_kind]
    if not selector:
        prunable += await _files(objects, resources, now, all_namespaces=all_namespaces)
    return sorted(prunable, key=lambda one: (one.since, one.namespace, one.name))


async def delete(cluster: "Cluster", one: Prunable) -> bool:
    """Delete it; returns whether it was still there: a newer object of its name is left alone."""
    body = {"propagationPolicy": "Background", "preconditions": {"uid": one.uid}}
    try:
        await cluster.client.call("DELETE", one.resource.path(one.namespace, one.name), body=body)
    except (NotFoundError, ConflictError):
        return False
    except ApiError as error:
        raise cluster.failed(error, f"delete {one}") from error
    return True


def _is_old(job: Job, states: Collection[str], before: datetime) -> bool:
    owners = job.metadata.get("ownerReferences") or ()
    ended = job.finished or job.created
    is_wanted = job.is_finished and job.state.lower() in states
    return is_wanted and ended <= before and not any(owner.get("controller") for owner in owners)


def _job(resource: Resource, job: Job) -> Prunable:
    return Prunable(resource, job.kind, job.name, job.namespace, job.uid, job.finished or job.created, job.state)


async def _files(
    objects: ObjectOperations, resources: dict[str, Resource], now: datetime, *, all_namespaces: bool
) -> list[Prunable]:
    """Return ConfigMaps with code that nobody owns, and that neither a job nor a Cron mounts."""
    try:
        params = {"labelSelector": f"{LABEL}=code"}
        found = await objects.list_all(CONFIG_MAPS, all_namespaces=all_namespaces, params=params)
    except Forbidden:  # jobs can be pruned without
        return []
    free = [one for one in found if not one["metadata"].get("ownerReferences")]
    free = [one for one in free if (parse_time(one["metadata"].get("creationTimestamp")) or now) <= now - FRESH]
    if not free:
        return []
    used: set[tuple[str, str]] = set()
    for resource in (*resources.values(), CRONS):
        for one in await objects.list_if_served(resource, all_namespaces=all_namespaces):
            used |= {(one["metadata"]["namespace"], name) for name in _config_maps(one.get("spec"))}
    return [
        Prunable(
            CONFIG_MAPS,
            "ConfigMap",
            meta["name"],
            meta["namespace"],
            meta["uid"],
            parse_time(meta.get("creationTimestamp")) or now,
            "code that no job uses",
        )
        for meta in (one["metadata"] for one in free)
        if (meta["namespace"], meta["name"]) not in used
    ]


def _config_maps(value: Any) -> set[str]:  # noqa: ANN401 - any part of a spec
    """Return the ConfigMaps that volumes in a spec name, wherever they stand."""
    if isinstance(value, list):
        return {name for one in value for name in _config_maps(one)}
    if not isinstance(value, dict):
        return set()
    mounted = value.get("configMap")
    own = {str(mounted["name"])} if isinstance(mounted, dict) and mounted.get("name") else set()
    return own | {name for one in value.values() for name in _config_maps(one)}
