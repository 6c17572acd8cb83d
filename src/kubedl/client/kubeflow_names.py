"""Methods with the names that Kubeflow's TrainingClient has, so that a notebook runs with the import changed."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from kubedl.client.job import Job
from kubedl.client.replica_operations import ReplicaOperations

EXPECTED = ("Succeeded",)


class KubeflowNames(ReplicaOperations):
    """Questions about one job, each answered from its newest state."""

    async def get_job_conditions(
        self, name: str, namespace: str | None = None, job_kind: str | None = None
    ) -> list[Mapping[str, Any]]:
        """Return the conditions of a job."""
        job = await self.get_job(name, namespace, job_kind)
        return list(job.status.get("conditions") or ())

    async def is_job_created(self, name: str, namespace: str | None = None, job_kind: str | None = None) -> bool:
        """Return whether an operator has seen the job."""
        return (await self.get_job(name, namespace, job_kind)).has_condition("Created")

    async def is_job_running(self, name: str, namespace: str | None = None, job_kind: str | None = None) -> bool:
        """Return whether it runs."""
        return (await self.get_job(name, namespace, job_kind)).state == "Running"

    async def is_job_restarting(self, name: str, namespace: str | None = None, job_kind: str | None = None) -> bool:
        """Return whether it restarts."""
        return (await self.get_job(name, namespace, job_kind)).state == "Restarting"

    async def is_job_succeeded(self, name: str, namespace: str | None = None, job_kind: str | None = None) -> bool:
        """Return whether it succeeded."""
        return (await self.get_job(name, namespace, job_kind)).is_succeeded

    async def is_job_failed(self, name: str, namespace: str | None = None, job_kind: str | None = None) -> bool:
        """Return whether it failed."""
        return (await self.get_job(name, namespace, job_kind)).is_failed

    async def wait_for_job_conditions(
        self,
        name: str,
        namespace: str | None = None,
        job_kind: str | None = None,
        expected_conditions: Collection[str] = EXPECTED,
        wait_timeout: float = 600,
        polling_interval: float = 0,
        callback: Callable[[Job], None] | None = None,
    ) -> Job:
        """Wait for one of several conditions. `polling_interval` is accepted and unused: changes are watched."""
        callbacks = [callback] if callback is not None else []
        return await self.wait_for_job_status(
            _full(name, job_kind), expected_conditions, namespace=namespace, timeout=wait_timeout, callbacks=callbacks
        )

    async def get_job_pod_names(
        self,
        name: str,
        namespace: str | None = None,
        is_master: bool = False,
        replica_type: str | None = None,
        replica_index: int | None = None,
    ) -> list[str]:
        """Return the names of the pods of a job, or of one role, or of one replica."""
        found = await self.get_job_pods(
            name, namespace, is_master=is_master, replica_type=replica_type, replica_index=replica_index
        )
        return [replica.pod_name for replica in found]


def _full(name: str, kind: str | None) -> str:
    return f"{kind}/{name}" if kind and "/" not in name else name
