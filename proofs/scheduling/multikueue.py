"""Does a job that MultiKueue dispatches run in another cluster? `python -m proofs.scheduling.multikueue`.

Two clusters of the test bed, each with a Kueue and an operator: the chosen instance is the manager, the next one the
worker. A job is dispatched and succeeds there; another one is preempted in the manager cluster, gives way, and runs
when its turn comes again. The last line is JSON.
"""

import base64
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from benchmarks.environment import say
from harness.drivers import team_queue
from harness.drivers.operator_process import Operator, install_custom_resources
from harness.drivers.team_queue import API, PRIORITY_LABEL, QUEUE, VERSION
from proofs.scheduling.queued_jobs import TRAINING, Order, ours
from testbed import cluster_lock
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.instance import INSTANCES, chosen_index
from testbed.kueue import NAMESPACE
from testbed.waiting import until

LONG = "1h"


def main() -> int:
    """Measure."""
    index = chosen_index()
    with clusters(index, (index + 1) % INSTANCES) as (manager, worker):
        pair = Pair(manager, worker)
        with pair.operators():
            print(json.dumps(pair.measure()))
    return 0


@contextmanager
def clusters(*indexes: int) -> Iterator[list[Cluster]]:
    """Clusters with Kueue; all but the first end here."""
    with ExitStack() as stack:
        made: list[Cluster] = []
        for index in indexes:
            cluster = Cluster(index, report=say)
            if made:
                stack.callback(cluster.down)
            stack.enter_context(cluster_lock.borrowed(cluster, kwok=1))
            install_custom_resources(cluster)
            cluster.add_kueue()
            made.append(cluster)
        yield made


class Pair:
    """A manager cluster that knows of a worker cluster, and a namespace with a queue in both."""

    def __init__(self, manager: Cluster, worker: Cluster) -> None:
        self._manager, self._worker = manager, worker
        self._namespace = "dispatched"

    @contextmanager
    def operators(self) -> Iterator[None]:
        """One in each cluster."""
        with ExitStack() as stack:
            for cluster in (self._worker, self._manager):
                cluster.api.create("/api/v1/namespaces", {"metadata": {"name": self._namespace}})
                stack.callback(cluster.api.delete, f"/api/v1/namespaces/{self._namespace}")
                stack.enter_context(Operator(cluster, arguments=("--namespace", self._namespace)))
                team_queue.publish_flavors(cluster.api, self._namespace)
            team_queue.publish_queue(self._worker.api, self._namespace, QUEUE, 4)
            self._connect()
            checks = {"admissionChecks": [{"name": self._namespace}]}
            team_queue.publish_queue(self._manager.api, self._namespace, QUEUE, 1, admissionChecksStrategy=checks)
            yield

    def measure(self) -> dict[str, str | int]:
        """What became of the jobs."""
        self._submit(Order("short", ends_after="1s"))
        until("the dispatched job to succeed", lambda: self._state("short") == "Succeeded", deadline=90)
        self._submit(Order("victim", ends_after=LONG))
        until("the victim to run", lambda: self._state("victim") == "Running", deadline=60)
        self._submit(Order("urgent", priority="high", ends_after="1s"))
        until("the urgent job to succeed", lambda: self._state("urgent") == "Succeeded", deadline=90)
        until("the victim to run again", lambda: self._state("victim") == "Running", deadline=90)
        here, there = (self._pods(cluster) for cluster in (self._manager, self._worker))
        victim = self._job("victim")
        return {
            "dispatched": "succeeded",
            "pods in the manager cluster": here,
            "pods in the worker cluster": there,
            "retries of the preempted job": victim["status"].get("retries", 0),
        }

    def _submit(self, order: Order) -> None:
        body = ours(self._namespace, order)
        body["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"
        say(f"{order.name} with {body['metadata']['labels'][PRIORITY_LABEL]}")
        self._manager.api.create(f"{TRAINING}/namespaces/{self._namespace}/pytorchjobs", body)

    def _connect(self) -> None:
        """Tell the manager's Kueue of the worker cluster."""
        api, name = self._manager.api, self._namespace
        kubeconfig = base64.b64encode(self._worker.kubeconfig.read_bytes()).decode()
        secret = {"metadata": {"name": name}, "data": {"kubeconfig": kubeconfig}}
        api.create(f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)
        source = {"clusterSource": {"kubeConfig": {"locationType": "Secret", "location": name}}}
        parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": name}
        check = {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters}
        for kind, plural, spec in (
            ("MultiKueueCluster", "multikueueclusters", source),
            ("MultiKueueConfig", "multikueueconfigs", {"clusters": [name]}),
            ("AdmissionCheck", "admissionchecks", check),
        ):
            body = {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
            api.create(f"{API}/{plural}", body)

    def _job(self, name: str) -> Object:
        return self._manager.api.get(f"{TRAINING}/namespaces/{self._namespace}/pytorchjobs/{name}")

    def _state(self, name: str) -> str:
        state: str = (self._job(name).get("status") or {}).get("state", "")
        return state

    def _pods(self, cluster: Cluster) -> int:
        return len(cluster.api.list(f"/api/v1/namespaces/{self._namespace}/pods"))


if __name__ == "__main__":
    sys.exit(main())
