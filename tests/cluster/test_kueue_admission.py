"""What a real Kueue decides about jobs beside their turn: default queues, counts, topologies, other clusters."""

from collections.abc import Iterator
from functools import partial

import pytest

from harness.drivers import team_queue
from harness.drivers.operator_process import Operator
from harness.drivers.team_queue import API, QUEUE, VERSION
from testbed.api import is_true
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.cluster.queued_jobs import NODES, QueuedJobs

HOST = "kubernetes.io/hostname"


@pytest.fixture
def jobs(control_plane: Cluster, namespace: str) -> Iterator[QueuedJobs]:
    """A namespace with a flavor and without a queue."""
    control_plane.up(kwok=NODES, keep=False)
    control_plane.add_kueue()
    with Operator(control_plane, arguments=("--namespace", namespace)):
        yield QueuedJobs(control_plane, namespace)


def takes_jobs(jobs: QueuedJobs, queue: str) -> bool:
    """Whether Kueue says so of a LocalQueue."""
    return is_true(jobs.cluster.api.get(f"{API}/namespaces/{jobs.namespace}/localqueues/{queue}"), "Active")


def is_running(jobs: QueuedJobs, name: str) -> bool:
    return jobs.status(name).get("state") == "Running"


def test_jobs_that_name_no_queue_join_the_default_of_their_namespace(jobs: QueuedJobs) -> None:
    """Not those that ran before it was there."""
    team_queue.publish_flavors(jobs.cluster.api, jobs.namespace, {"type": "kwok"})
    jobs.submit("before", queue="")
    until("the job without a queue to run", partial(is_running, jobs, "before"), deadline=90)
    team_queue.publish_queue(jobs.cluster.api, jobs.namespace, "default", 1)
    # The operator sees a queue a moment after it is there, and a job that comes earlier joins none.
    until("the queue to be known", partial(takes_jobs, jobs, "default"), deadline=90)
    jobs.submit("first", queue="")
    until("the first to run", partial(is_running, jobs, "first"), deadline=90)
    jobs.submit("second", queue="")
    until("the second to wait", lambda: jobs.status("second").get("reason") == "QuotaPending", deadline=90)
    assert {name: jobs.status(name).get("queueName") for name in jobs.states()} == {
        "before": None,
        "first": "default",
        "second": "default",
    }
    assert is_running(jobs, "before")
    # The second gets its Workload after its status.
    until("a Workload for both", lambda: set(jobs.workloads()) == {"first", "second"}, deadline=90)


def test_a_job_that_can_do_with_fewer_workers_runs_with_what_there_is(jobs: QueuedJobs) -> None:
    team_queue.publish_flavors(jobs.cluster.api, jobs.namespace, {"type": "kwok"})
    team_queue.publish_queue(jobs.cluster.api, jobs.namespace, QUEUE, 3)
    jobs.submit("elastic", workers=5, annotations={"kueue.x-k8s.io/job-min-parallelism": "1"})
    until("it to run", partial(is_running, jobs, "elastic"), deadline=90)
    pods = jobs.pods("elastic")
    sizes = {one["value"] for pod in pods for one in pod["spec"]["containers"][0]["env"] if one["name"] == "WORLD_SIZE"}
    assert (len(pods), sizes) == (3, {"3"})
    jobs.end("elastic")
    until("its success", lambda: jobs.status("elastic").get("state") == "Succeeded", deadline=90)


def test_pods_go_to_the_nodes_that_kueue_chose_for_their_topology(jobs: QueuedJobs) -> None:
    """All workers on one host; any number of them would fit on two."""
    api = jobs.cluster.api
    topology = {"apiVersion": VERSION, "kind": "Topology", "metadata": {"name": jobs.namespace}}
    api.create(f"{API}/topologies", {**topology, "spec": {"levels": [{"nodeLabel": HOST}]}})
    flavor = {"apiVersion": VERSION, "kind": "ResourceFlavor", "metadata": {"name": jobs.namespace}}
    spec = {"nodeLabels": {"type": "kwok"}, "topologyName": jobs.namespace}
    api.create(f"{API}/resourceflavors", {**flavor, "spec": spec})
    for priority in ("low", "high"):
        kind = {"apiVersion": VERSION, "kind": "WorkloadPriorityClass"}
        body = {**kind, "metadata": {"name": f"{jobs.namespace}-{priority}"}, "value": 1}
        api.create(f"{API}/workloadpriorityclasses", body)
    team_queue.publish_queue(api, jobs.namespace, QUEUE, 20)
    jobs.submit("near", workers=6, topology={"kueue.x-k8s.io/podset-required-topology": HOST})
    until("it to run", partial(is_running, jobs, "near"), deadline=120)
    workers = [pod for pod in jobs.pods("near") if "-worker-" in pod["metadata"]["name"]]
    assert len({pod["spec"]["nodeName"] for pod in workers}) == 1
    assert all(pod["spec"]["nodeSelector"][HOST] == pod["spec"]["nodeName"] for pod in workers)


def test_a_job_for_another_cluster_gets_a_workload_and_nothing_else(jobs: QueuedJobs) -> None:
    team_queue.publish_flavors(jobs.cluster.api, jobs.namespace, {"type": "kwok"})
    team_queue.publish_queue(jobs.cluster.api, jobs.namespace, QUEUE, 2)
    jobs.submit("elsewhere", managedBy="kueue.x-k8s.io/multikueue")
    jobs.submit("here", managedBy="training.kubedl.io/operator")
    until("the job of this cluster to run", partial(is_running, jobs, "here"), deadline=90)
    until("a Workload for each", lambda: set(jobs.workloads()) == {"elsewhere", "here"}, deadline=90)
    assert jobs.pods("elsewhere") == []
    assert jobs.status("elsewhere") == {}
