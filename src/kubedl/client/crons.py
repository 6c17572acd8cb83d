"""Crons of a namespace: stop and start their schedule, and start a run now."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kubedl.client.blocking import blocking
from kubedl.client.job import Job
from kubedl.client.kinds import GROUP_VERSION
from kubedl.client.objects import CRONS, Object, ObjectOperations, Resource

if TYPE_CHECKING:
    from kubedl.client.job_lookup import Cluster

LONGEST_PREFIX = 40  # characters of the cron's name in that of a run


class CronOperations:
    """Crons of one namespace, as the caller."""

    def __init__(self, cluster: "Cluster", namespace: str) -> None:
        self.namespace = namespace
        self._cluster = cluster
        self._objects = ObjectOperations(cluster, namespace)

    async def suspend(self, name: str) -> Object:
        """Start no more runs; those that were started go on. Raises NotFound."""
        return await self._objects.patch(CRONS, name, {"spec": {"suspend": True}})

    async def resume(self, name: str) -> Object:
        """Start runs again, from the next time of the schedule. Raises NotFound."""
        return await self._objects.patch(CRONS, name, {"spec": {"suspend": False}})

    async def run(self, name: str, *, run_name: str | None = None) -> Job:
        """Create a job from the template of a cron, now. The schedule is not affected.

        Its name is that of the cron and a number, unless one is given. Raises NotFound, AlreadyExists or Forbidden.
        """
        cron = await self._objects.get(CRONS, name)
        manifest = manifest_of_run(cron, run_name or f"{name[:LONGEST_PREFIX]}-now-{int(time.time()) % 10**6}")
        kind = await self._cluster.kind(manifest["kind"])
        return Job.of(await self._objects.create(Resource("job", kind.plural, GROUP_VERSION), manifest))


class Crons:
    """Crons of one namespace: `CronOperations` without an event loop."""

    def __init__(self, operations: CronOperations) -> None:
        self._operations = operations

    suspend = blocking(CronOperations.suspend)
    resume = blocking(CronOperations.resume)
    run = blocking(CronOperations.run)


def manifest_of_run(cron: Mapping[str, Any], name: str) -> Object:
    """Return the job that a cron creates, under a name."""
    template = cron["spec"]["template"]
    workload = template["workload"]
    return {
        "apiVersion": template.get("apiVersion", GROUP_VERSION),
        "kind": template["kind"],
        "metadata": {**(workload.get("metadata") or {}), "name": name},
        "spec": workload["spec"],
    }
