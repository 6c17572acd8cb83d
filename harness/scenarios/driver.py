"""The world around the operator, played by a test: users with their jobs, and the kubelet of a node on paper.

Every deed is one call to the API server, and every wait is for a condition of what the API server has, so a scenario
makes the same history each time, whatever happens to the operator meanwhile.
"""

import datetime
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from harness.drivers.cluster_watcher import TRAINING, ClusterWatcher
from kubedl.kube import codec
from kubedl.training import labels
from kubedl.training.job import Job as JobView
from kubedl.training.job import Replica
from kubedl.training.kinds import all_kinds
from testbed.api import Object
from testbed.waiting import until

KINDS = {kind.kind: kind for kind in all_kinds()}
LONG_AGO = datetime.timedelta(hours=1)  # pauses counted from then are over
INTERVAL = 0.01
DEADLINE = 120.0  # seconds: the garbage collector takes twenty objects a second, of all tests together


class ScenarioDriver:
    """One namespace of a cluster, in which one operator works."""

    def __init__(
        self,
        watcher: ClusterWatcher,
        namespace: str,
        node: str,
        *,
        deadline: float = DEADLINE,
        tend: Callable[[], None] = lambda: None,
        met: Callable[[], None] = lambda: None,
    ) -> None:
        """`tend` is called while waiting: it brings a killed operator back; `met` when a condition is met."""
        self.watcher = watcher
        self.namespace = namespace
        self.node = node
        self._deadline = deadline
        self._tend = tend
        self._met = met

    def create(
        self,
        kind: str,
        name: str,
        roles: Mapping[str, int | Object],
        labels: Mapping[str, str] | None = None,
        **spec: object,
    ) -> "Job":
        """A user asks for a job; each role is a count of replicas, or a replica spec without its template."""
        body = job_body(kind, name, roles, self.node, **spec)
        body["metadata"]["labels"] = dict(labels or {})
        job = Job(self, view(body))
        self.watcher.connection.create(job.collection, body)
        return job

    def until(self, what: str, condition: Callable[[], Any]) -> None:
        """Wait for a condition, and look after the operator meanwhile."""

        def met() -> bool:
            self._tend()
            return bool(condition())

        until(what, met, deadline=self._deadline, interval=INTERVAL)
        self._met()


class Job:
    """One job, its user, and the kubelet of its pods. Pods are called `worker-0`."""

    def __init__(self, world: ScenarioDriver, view: JobView) -> None:
        self._world = world
        self.view = view  # as its kind saw it when it was made
        self._kind, self._name = view.resource.kind, view.name
        self._server = world.watcher.connection
        self._running: set[str] = set()
        self.collection = f"{TRAINING}/namespaces/{world.namespace}/{KINDS[self._kind].plural}"

    def change(self, **spec: object) -> None:
        """The user edits the spec."""
        self._server.patch(f"{self.collection}/{self._name}", {"spec": spec})

    def delete(self, policy: str = "Background") -> None:
        """The user deletes the job."""
        self._server.delete(f"{self.collection}/{self._name}", {"propagationPolicy": policy})

    def run(self, *pods: str) -> None:
        """The kubelet starts a pod's container, and it is ready; one after another, each seen by the operator."""
        for pod in pods:
            self._report(pod, running(self._kind))
            self._running.add(pod)
            self.until(f"{pod} to be counted as ready", self._counted)

    def fail(self, pod: str, code: int) -> None:
        """A pod's container ends badly."""
        self._report(pod, ended(self._kind, code))

    def succeed(self, pod: str) -> None:
        """A pod's container ends well."""
        self._report(pod, ended(self._kind, 0))

    def evict(self, pod: str) -> None:
        """Somebody else deletes a pod; its kubelet takes its time."""
        self._running.discard(pod)
        self._server.delete(self._pod(pod))

    def take(self, pod: str) -> None:
        """Somebody deletes a pod by force: it is gone at once."""
        self._running.discard(pod)
        self._server.delete(self._pod(pod), {"gracePeriodSeconds": 0})

    def vanish(self, *pods: str) -> None:
        """The kubelet has ended a pod that is being deleted."""
        for pod in pods:
            self.until(f"{pod} to be deleted", partial(self._is_leaving, pod))
            self._server.delete(self._pod(pod), {"gracePeriodSeconds": 0})
            self._running.discard(pod)

    def until_pods(self, **attempts: int) -> None:
        """Wait until exactly these pods are there and stay, each of this attempt: `until_pods(worker_0=1)`."""
        wanted = {name.replace("_", "-"): attempt for name, attempt in attempts.items()}
        self.until(f"pods {wanted}", lambda: self.pods() == wanted)

    def until_status(self, **fields: object) -> None:
        """Wait until the status says so."""
        self.until(f"a status with {fields}", lambda: fields.items() <= self.status().items())

    def until_succeeded(self, number: int) -> None:
        """Wait until so many replicas count as succeeded."""
        self.until(f"{number} to have succeeded", lambda: self._succeeded() == number)

    def until_gone(self) -> None:
        """Wait until the job and all that belonged to it are no more."""
        self.until("the job to be gone", lambda: self.seen() is None and not self._own("pods", "services"))

    def until(self, what: str, condition: Callable[[], Any]) -> None:
        """Wait for anything else about the job."""
        self._world.until(f"{self._name}: {what}", condition)

    def seen(self) -> Object | None:
        """The job as it is now."""
        return self._world.watcher.get(KINDS[self._kind].plural, self._world.namespace, self._name)

    def status(self) -> Object:
        """What the operator says about it."""
        status: Object = (self.seen() or {}).get("status") or {}
        return status

    def pods(self) -> dict[str, int]:
        """The replicas' pods that are not being deleted, and their attempts."""
        stay = [pod["metadata"] for pod in self._own("pods").values() if "deletionTimestamp" not in pod["metadata"]]
        marks = [meta["labels"] for meta in stay if labels.ATTEMPT in meta["labels"]]
        return {f"{own[labels.REPLICA_TYPE]}-{own[labels.REPLICA_INDEX]}": int(own[labels.ATTEMPT]) for own in marks}

    def pod(self, pod: str) -> Object:
        """A pod as it was created."""
        return self._own("pods")[f"{self._name}-{pod}"]

    def give_address(self, pod: str, address: str) -> None:
        """The network of a node has given a pod its address."""
        self._server.patch(f"{self._pod(pod)}/status", {"status": {"podIP": address, "podIPs": [{"ip": address}]}})

    def uid(self, pod: str) -> str | None:
        """Of a pod that is there and stays."""
        found = self._own("pods").get(f"{self._name}-{pod}")
        return found["metadata"]["uid"] if found is not None and "deletionTimestamp" not in found["metadata"] else None

    def node(self, pod: str) -> str:
        """The node of a pod that stays; empty if there is none."""
        found = self._own("pods").get(f"{self._name}-{pod}", {})
        is_leaving = "deletionTimestamp" in found.get("metadata", {})
        return "" if is_leaving else str(found.get("spec", {}).get("nodeName", ""))

    def has_service(self, name: str) -> bool:
        """Whether there is a Service of the job's with that name."""
        return f"{self._name}-{name}" in self._own("services")

    def _own(self, *resources: str) -> dict[str, Object]:
        found = [self._world.watcher.all(resource, self._world.namespace) for resource in resources]
        return {
            name: body
            for objects in found
            for name, body in objects.items()
            if body["metadata"]["labels"][labels.JOB_NAME] == self._name
        }

    def _pod(self, pod: str) -> str:
        return f"/api/v1/namespaces/{self._world.namespace}/pods/{self._full_name(pod)}"

    def _full_name(self, pod: str) -> str:
        played, _, index = pod.rpartition("-")
        for role in KINDS[self._kind].roles:
            if role.name.lower() == played:
                return self.view.pod_name(Replica(role.name, int(index)))
        return f"{self._name}-{pod}"  # one beside the replicas

    def _is_leaving(self, name: str) -> bool:
        pod = self._world.watcher.get("pods", self._world.namespace, self._full_name(name))
        return pod is not None and "deletionTimestamp" in pod["metadata"]

    def _counted(self) -> bool:
        roles = self.status().get("replicaStatuses", {}).values()
        return bool(sum(role["ready"] for role in roles) == len(self._running))

    def _succeeded(self) -> int:
        return sum(role["succeeded"] for role in self.status().get("replicaStatuses", {}).values())

    def _report(self, pod: str, status: Object) -> None:
        self._running.discard(pod)
        self._server.patch(f"{self._pod(pod)}/status", {"status": status})


def job_body(kind: str, name: str, roles: Mapping[str, int | Object], node: str, **spec: object) -> Object:
    """A job as its user writes it; its pods say for themselves on which node they run."""
    given = {role: {"replicas": own} if isinstance(own, int) else own for role, own in roles.items()}
    specs = {role: {"template": template(kind, node), **own} for role, own in given.items()}
    return {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {KINDS[kind].replicas_field: specs, **spec},
    }


def template(kind: str, node: str) -> Object:
    """The template of pods that say for themselves on which node they run."""
    container = {"name": KINDS[kind].container, "image": "none", "command": ["true"]}
    return {"spec": {"nodeName": node, "containers": [container]}}


def view(body: Object) -> JobView:
    """A job as its kind sees it."""
    kind = KINDS[body["kind"]]
    return kind.job(kind.resource.decoder.decode(codec.encode(body)))


def pod_status(kind: str, phase: str, state: Object, *, ready: bool = False) -> Object:
    """The status of a pod as its kubelet writes it."""
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": _now()}
    container = {"name": KINDS[kind].container, "image": "none", "imageID": "", "ready": ready}
    container |= {"restartCount": 0, "state": state}
    return {"phase": phase, "conditions": [condition], "containerStatuses": [container]}


def running(kind: str) -> Object:
    """The status of a pod that runs and is ready."""
    return pod_status(kind, "Running", {"running": {"startedAt": _now()}}, ready=True)


def ended(kind: str, code: int) -> Object:
    """The status of a pod whose container ended, long enough ago that no pause counts from then."""
    phase, reason = ("Failed", "Error") if code else ("Succeeded", "Completed")
    times = {"startedAt": _now(2 * LONG_AGO), "finishedAt": _now(LONG_AGO)}
    return pod_status(kind, phase, {"terminated": {"exitCode": code, "reason": reason, **times}})


def _now(ago: datetime.timedelta = datetime.timedelta()) -> str:
    return (datetime.datetime.now(datetime.UTC) - ago).strftime("%Y-%m-%dT%H:%M:%SZ")
