"""Methods with the names that Kubeflow's TrainingClient has, so that a notebook runs with the import changed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from kubedl.client.job import Job
from kubedl.client.job_client import JobClient

EXPECTED = ("Succeeded",)


class KubeflowNames(JobClient):
    """Questions about one job, each answered from its newest state."""

    def get_job_conditions(
        self, name: str, namespace: str | None = None, job_kind: str | None = None
    ) -> list[Mapping[str, Any]]:
        """Return the conditions of a job."""
        job = self.get_job(_full(name, job_kind), namespace=namespace)
        return list(job.status.get("conditions") or ())

    def is_job_created(self, name: str, namespace: str | None = None) -> bool:
        """Return whether an operator has seen the job."""
        return self.get_job(name, namespace=namespace).has_condition("Created")

    def is_job_running(self, name: str, namespace: str | None = None) -> bool:
        """Return whether it runs."""
        return self.get_job(name, namespace=namespace).state == "Running"

    def is_job_restarting(self, name: str, namespace: str | None = None) -> bool:
        """Return whether it restarts."""
        return self.get_job(name, namespace=namespace).state == "Restarting"

    def is_job_succeeded(self, name: str, namespace: str | None = None) -> bool:
        """Return whether it succeeded."""
        return self.get_job(name, namespace=namespace).is_succeeded

    def is_job_failed(self, name: str, namespace: str | None = None) -> bool:
        """Return whether it failed."""
        return self.get_job(name, namespace=namespace).is_failed

    def wait_for_job_conditions(
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
        return self.wait_for_job_status(
            _full(name, job_kind), expected_conditions, namespace=namespace, timeout=wait_timeout, callbacks=callbacks
        )

    def get_job_pod_names(
        self,
        name: str,
        namespace: str | None = None,
        is_master: bool = False,
        replica_type: str | None = None,
        replica_index: int | None = None,
    ) -> list[str]:
        """Return the names of the pods of a job, or of one role, or of one replica."""
        job = self.get_job(name, namespace=namespace)
        wanted: Sequence[str] = ("master", "launcher", "chief") if is_master else ((replica_type or "").lower(),)
        found = []
        for replica in self.get_job_pods(job):
            role, _, index = replica.name.rpartition("-")
            if (not any(wanted) or role in wanted) and replica_index in (None, int(index)):
                found.append(replica.pod_name)
        return found


def _full(name: str, kind: str | None) -> str:
    return f"{kind}/{name}" if kind and "/" not in name else name
