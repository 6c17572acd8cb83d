"""The logs of a service's servers, as those of a job's replicas."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kubedl.client import log_reader
from kubedl.client.errors import NotFound
from kubedl.client.job import Job
from kubedl.client.log_follower import LogFollower
from kubedl.client.log_line import LogLine
from kubedl.client.log_reader import LogOptions
from kubedl.client.log_sources import PREDICTOR, pods_of, replica_name
from kubedl.client.objects import INFERENCES, Objects
from kubedl.kube.errors import ApiError, InvalidError

if TYPE_CHECKING:
    from kubedl.client.job_lookup import Cluster


class ServiceLogs:
    """The logs of one service; of one predictor if that is named."""

    def __init__(self, cluster: "Cluster", namespace: str, name: str, predictor: str = "") -> None:
        found = Objects(cluster, namespace).get(INFERENCES, name)
        self._cluster, self._predictor = cluster, predictor
        self._service = Job.of({"apiVersion": INFERENCES.group, "kind": "Inference", **found})
        known = [str(one["name"]) for one in self._service.spec.get("predictors") or ()]
        if predictor and predictor not in known:
            raise NotFound(f"{name} has no predictor called {predictor}", f"it has {', '.join(known)}")

    def _wants(self, replica: str) -> bool:
        return not self._predictor or replica.rpartition("-")[0] == self._predictor

    def read(self, options: LogOptions, on_note: Callable[[str], None]) -> Iterator[LogLine]:
        """Yield the lines of each server, one server after the other."""
        path, selection = pods_of(self._service)
        answer = self._cluster.call("GET", path, f"list the pods of {self._service.name}", params=selection)
        pods = self._cluster.decode(answer, dict).get("items") or ()
        wanted = [pod for pod in pods if self._wants(replica_name(pod))]
        if not wanted:
            ready = self._service.condition("Ready") or {}
            why, steps = str(ready.get("message") or ""), (f"kubedl serve get {self._service.name}",)
            raise NotFound(f"{self._service.name} has no servers yet", why, steps)
        for pod in sorted(wanted, key=lambda one: (one["metadata"]["labels"][PREDICTOR], one["metadata"]["name"])):
            container = log_reader.container_of(pod, options.container)
            try:
                yield from log_reader.read(self._cluster.client, pod, replica_name(pod), container, options.params())
            except InvalidError as error:
                on_note(error.message)
            except ApiError as error:
                raise self._cluster.failed(error, f"read the log of {pod['metadata']['name']}") from error

    def follow(self, options: LogOptions, on_note: Callable[[str], None]) -> Iterator[LogLine]:
        """Yield lines as they are written, also of servers that come later, until the service is deleted."""
        path = INFERENCES.path(self._service.namespace)
        follower = LogFollower(self._cluster.client, self._service, path, self._wants, options, on_note)
        try:
            yield from follower
        except ApiError as error:
            raise self._cluster.failed(error, f"follow the logs of {self._service.name}") from error
