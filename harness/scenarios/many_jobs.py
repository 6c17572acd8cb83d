"""Many jobs at once, their users and their kubelets: what a fault must do to a thousand pods without one mistake."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from harness.drivers.api_connection import MERGE_PATCH, unless_gone
from harness.drivers.cluster_watcher import TRAINING
from harness.drivers.environment import Stage
from harness.scenarios.driver import KINDS, ended, job_body, running
from testbed.api import Object
from testbed.waiting import until

DEADLINE = 120.0
LABEL = "training.kubedl.io/job-name"


class Fleet:
    """The jobs of one namespace, all of one kind. Pods are known by their full names."""

    def __init__(
        self, stage: Stage, namespace: str, kind: str = "TFJob", tend: Callable[[], None] = lambda: None
    ) -> None:
        self.namespace = namespace
        self._stage, self._kind, self._tend = stage, kind, tend
        self._server = stage.watcher.connection
        self.jobs_path = f"{TRAINING}/namespaces/{namespace}/{KINDS[kind].plural}"
        self.pods_path = f"/api/v1/namespaces/{namespace}/pods"

    def create(self, names: Iterable[str], roles: Mapping[str, int | Object], **spec: object) -> None:
        """Users ask for jobs that differ in their names only."""

        async def one(name: str) -> None:
            body = job_body(self._kind, name, roles, self._stage.node, **spec)
            await self._server.call("POST", self.jobs_path, body)

        self._server.each(names, one)

    def change(self, names: Iterable[str], patch: Object) -> None:
        """Users edit their jobs."""
        self._server.each(names, lambda name: self._patch(f"{self.jobs_path}/{name}", patch))

    def delete_jobs(self, names: Iterable[str], policy: str = "Background") -> None:
        """Users delete their jobs."""
        self._server.each(
            names, lambda name: self._server.call("DELETE", f"{self.jobs_path}/{name}", {"propagationPolicy": policy})
        )

    def run(self, pods: Iterable[str]) -> None:
        """Kubelets start pods, and they are ready."""
        status = {"status": running(self._kind)}
        self._server.each(pods, lambda pod: self._patch(f"{self.pods_path}/{pod}/status", status))

    def end(self, pods: Iterable[str], code: int = 0) -> None:
        """Containers end, well or badly."""
        status = {"status": ended(self._kind, code)}
        self._server.each(pods, lambda pod: self._patch(f"{self.pods_path}/{pod}/status", status))

    def take(self, pods: Iterable[str]) -> None:
        """Somebody deletes pods by force; one that is gone already is fine."""

        async def one(pod: str) -> None:
            with unless_gone():
                await self._server.call("DELETE", f"{self.pods_path}/{pod}", {"gracePeriodSeconds": 0})

        self._server.each(pods, one)

    def pods(self) -> dict[str, Object]:
        """The pods that there are and that stay."""
        found = self._stage.watcher.all("pods", self.namespace)
        return {name: pod for name, pod in found.items() if "deletionTimestamp" not in pod["metadata"]}

    def leaving(self) -> list[str]:
        """The pods that wait for their kubelet to end them."""
        found = self._stage.watcher.all("pods", self.namespace)
        return [name for name, pod in found.items() if "deletionTimestamp" in pod["metadata"]]

    def ever(self) -> dict[str, int]:
        """How many pods there ever were of each name."""
        counts: dict[str, int] = {}
        for pod in self._stage.watcher.ever("pods", self.namespace).values():
            counts[pod["metadata"]["name"]] = counts.get(pod["metadata"]["name"], 0) + 1
        return counts

    def jobs(self) -> dict[str, Object]:
        """The jobs that there are."""
        return self._stage.watcher.all(KINDS[self._kind].plural, self.namespace)

    def statuses(self) -> dict[str, Object]:
        """What the operator says about each."""
        return {name: job.get("status") or {} for name, job in self.jobs().items()}

    def until_pods(self, count: int, deadline: float = DEADLINE) -> None:
        """Wait until there are exactly so many pods that stay."""
        self.until(f"{count} pods", lambda: len(self.pods()), count, deadline)

    def until_all(self, deadline: float = DEADLINE, **fields: object) -> None:
        """Wait until every job's status says so."""
        self.until(
            f"every status to have {fields}", lambda: _count(self.statuses(), fields), len(self.jobs()), deadline
        )

    def until(self, what: str, seen: Callable[[], Any], wanted: object = True, deadline: float = DEADLINE) -> None:
        """Wait until what is seen is what is wanted; the error says what was seen last."""

        def met() -> bool:
            self._tend()
            if seen() != wanted:
                raise TimeoutError(f"{seen()!r} instead of {wanted!r}")
            return True

        until(what, met, deadline=deadline, interval=0.05)

    async def _patch(self, path: str, body: Object) -> None:
        await self._server.call("PATCH", path, body, MERGE_PATCH)


def _count(statuses: Mapping[str, Object], fields: Mapping[str, object]) -> int:
    return sum(fields.items() <= status.items() for status in statuses.values())
