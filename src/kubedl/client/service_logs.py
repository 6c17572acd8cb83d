"""The logs of a service's servers, as those of a job's replicas."""

from collections.abc import Mapping
from typing import Any

from kubedl.client.errors import NotFound
from kubedl.client.job import Job
from kubedl.client.job_logs import JobLogs
from kubedl.client.log_sources import PREDICTOR, waits_for
from kubedl.client.objects import INFERENCES, ObjectOperations


class ServiceLogs(JobLogs):
    """Lines of the servers of one service, or of the predictors that are wanted. `job` is the service."""

    async def _found(self) -> tuple[str, Job]:
        found = await ObjectOperations(self._cluster, self._namespace).get(INFERENCES, self._name)
        service = Job.of({"apiVersion": INFERENCES.group, "kind": "Inference", **found})
        known = [str(one["name"]) for one in service.spec.get("predictors") or ()]
        for one in self._wanted:
            if one not in known:
                why, steps = f"it has {', '.join(known)}", (f"kubedl serve get {service.name}",)
                raise NotFound(f"{service.name} has no predictor called {one}", why, steps)
        return INFERENCES.path(service.namespace), service

    def _wants(self, replica: str) -> bool:
        return not self._wanted or replica.rpartition("-")[0] in self._wanted

    def _no_pods(self, job: Job) -> NotFound:
        return NotFound(f"{job.name} has no servers yet", waits_for(job), (f"kubedl serve get {job.name}",))

    def _order(self, pod: Mapping[str, Any]) -> tuple[Any, ...]:
        return pod["metadata"]["labels"][PREDICTOR], pod["metadata"]["name"]

    def _pod_of(self, replica: str) -> str:
        """Return the name of the server: that of its pod is longer, and not in the lines."""
        return replica
