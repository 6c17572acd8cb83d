"""Wishes of jobs in a queue of Kueue, and of gangs: what is asked for, and what is refused before there is quota."""

from dataclasses import replace

import pytest

from kubedl.kube.codec import RawObject, encode
from kubedl.kube.types.meta import ObjectMeta
from kubedl.training import pods
from kubedl.training.gang.pod_group import pod_groups
from kubedl.training.gang.schedulers.native import Native
from kubedl.training.job import Replica
from kubedl.training.kueue import admission
from kubedl.training.kueue import workload as workload_objects
from kubedl.training.kueue.queue import Queue
from kubedl.training.kueue.queues import Queues
from kubedl.training.kueue.types import (
    Admission,
    ClusterQueue,
    ClusterQueueSpec,
    FlavorQuotas,
    FlavorSpec,
    LocalQueue,
    LocalQueueSpec,
    PodSetAssignment,
    ResourceFlavor,
    ResourceGroup,
    Workload,
    WorkloadStatus,
)
from kubedl.training.observed import Settings
from kubedl.training.placement.in_queue import topology_requests
from kubedl.training.placement.pod_spec import REQUIRED
from kubedl.training.planner import plan
from tests.training_builders import NAMESPACE, JobBuilder, observed, tf_job, torch_job

RACK = "example/rack"
POOLS = [{"name": name, "nodeSelector": {"tier": name}} for name in ("spot", "on-demand")]
SPOT, DEMAND = {"tier": "spot", "zone": "1"}, {"tier": "on-demand"}
PACKED = {"strategy": "Pack", "topologyKey": RACK, "whenUnsatisfiable": "DoNotSchedule"}


def queues(*flavors: dict[str, str], topology: str = "") -> Queues:
    """A LocalQueue whose ClusterQueue tries flavors with these node labels in this order."""
    found = Queues()
    quotas = []
    for number, labels in enumerate(flavors):
        spec = FlavorSpec(node_labels=labels, topology_name=topology)
        found.resource_flavors.put(ResourceFlavor(metadata=ObjectMeta(name=f"f{number}"), spec=spec))
        quotas.append(FlavorQuotas(name=f"f{number}"))
    groups = (ResourceGroup(flavors=tuple(quotas)),)
    found.cluster.put(ClusterQueue(metadata=ObjectMeta(name="all"), spec=ClusterQueueSpec(resource_groups=groups)))
    meta = ObjectMeta(name="team", namespace=NAMESPACE)
    found.local.put(LocalQueue(metadata=meta, spec=LocalQueueSpec(cluster_queue="all")))
    return found


def refused(job: JobBuilder, found: Queues) -> str:
    conflict = found.conflict(job.kind.job(job.build()), "team")
    return conflict[0] if conflict is not None else ""


def torch(**placement: object) -> JobBuilder:
    return torch_job().master().workers(3).with_spec(placement=placement)


@pytest.mark.parametrize(
    ("flavors", "reason"),
    [
        ([SPOT, DEMAND], ""),
        ([DEMAND, SPOT], "NodePoolOrder"),
        ([{}, DEMAND], ""),  # nodes of the first may be of any pool: the scheduler chooses among them
        ([DEMAND, {"tier": "reserved"}, SPOT], "NodePoolOrder"),
        ([{"tier": "reserved"}], ""),  # Kueue says that it does not match the affinity
    ],
)
def test_the_order_of_pools_is_that_of_the_flavors(flavors: list[dict[str, str]], reason: str) -> None:
    assert refused(torch(nodePools=POOLS), queues(*flavors)) == reason


def test_the_flavors_in_the_wrong_order_are_named() -> None:
    job = torch(nodePools=POOLS)
    conflict = queues(DEMAND, SPOT).conflict(job.kind.job(job.build()), "team")
    assert conflict is not None
    assert conflict[1].endswith("tries flavor f0 before f1, and the job asks for node pool spot before on-demand")


def test_a_job_that_is_refused_waits_without_a_workload() -> None:
    job = torch(nodePools=POOLS).with_spec(schedulingPolicy={"queue": "team"})
    queue = Queue("team", conflict=("NodePoolOrder", "why"))
    decided = plan(replace(observed(job), queue=queue))
    assert (decided.status.state, decided.status.reason, decided.creations) == ("Queuing", "NodePoolOrder", ())
    assert decided.wake_at is not None  # the queue may be changed, and nobody tells the job


def test_what_is_not_known_yet_is_not_taken_for_consent() -> None:
    unknown = replace(queues(), are_known=lambda: False)
    assert refused(torch(nodePools=POOLS), unknown) == "QueueNotKnown"
    assert refused(torch_job().master(), unknown) == ""


def test_a_queue_that_chooses_nodes_is_asked_to_pack() -> None:
    found = queues({}, topology="racks")
    job = torch_job().master().workers(3, placement=PACKED)
    requests = topology_requests(job.build(), found.flavors(job.kind.job(job.build()), "team"))
    assert requests == {"worker": {"required": RACK, "podIndexLabel": "training.kubedl.io/replica-index"}}
    soft = torch(strategy="Pack")
    requests = topology_requests(soft.build(), found.flavors(soft.kind.job(soft.build()), "team"))
    assert {role: one["preferred"] for role, one in requests.items()} == dict.fromkeys(
        ("master", "worker"), "kubernetes.io/hostname"
    )
    assert topology_requests(job.build(), queues({}).flavors(job.kind.job(job.build()), "team")) == {}


def test_two_roles_are_one_group_of_kueue_if_one_has_a_single_pod() -> None:
    found, job = queues({}, topology="racks"), torch(**PACKED)
    assert refused(job, found) == ""
    requests = topology_requests(job.build(), found.flavors(job.kind.job(job.build()), "team"))
    assert {one["podSetGroupName"] for one in requests.values()} == {"master"}
    assert refused(tf_job().ps(2).workers(3).with_spec(placement=PACKED), found) == "PackNotPossible"
    soft = {**PACKED, "whenUnsatisfiable": "ScheduleAnyway"}
    assert refused(tf_job().ps(2).workers(3).with_spec(placement=soft), found) == ""


def test_a_queue_that_chooses_nodes_cannot_spread() -> None:
    assert refused(torch(strategy="Spread"), queues({}, topology="racks")) == "SpreadNotPossible"
    assert refused(torch(strategy="Spread"), queues({})) == ""


def test_kueue_counts_pods_on_the_nodes_of_the_pools_only() -> None:
    job = torch(nodePools=POOLS)
    [master, _] = workload_objects.pod_sets(job.kind.job(job.build()))
    terms = master["template"]["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert [term["matchExpressions"][0]["values"] for term in terms] == [["spot"], ["on-demand"]]


def test_the_requests_are_in_the_workload_and_not_in_its_digest() -> None:
    """Whether Kueue chooses nodes may change while the job waits."""
    job = torch(**PACKED)
    whole = job.kind.job(job.build())
    body = workload_objects.render(job.kind, whole, "team", 0, None, {"worker": {"required": RACK}})
    assert [one.get("topologyRequest") for one in body["spec"]["podSets"]] == [None, {"required": RACK}]
    plain = workload_objects.render(job.kind, whole, "team", 0, None, {})
    assert plain["metadata"]["annotations"] == body["metadata"]["annotations"]


def test_pods_wait_for_the_nodes_that_kueue_has_chosen() -> None:
    chosen = RawObject(encode({"levels": [RACK]}))
    assigned = (PodSetAssignment(name="worker", topology_assignment=chosen), PodSetAssignment(name="master"))
    status = WorkloadStatus(admission=Admission(cluster_queue="all", pod_set_assignments=assigned))
    queue = Queue("team", workload=Workload(metadata=ObjectMeta(name="w1"), status=status))
    job = torch(**PACKED)
    whole = job.kind.job(job.build())
    bodies = {
        role: pods.render(job.kind, whole, Replica(role, 0), 0, scope="Job", settings=Settings())
        for role in ("Master", "Worker")
    }
    for role, body in bodies.items():
        admission.apply_admission(body, role, queue)
    assert "schedulingGates" not in bodies["Master"]["spec"]
    meta = bodies["Worker"]["metadata"]
    assert bodies["Worker"]["spec"]["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}]
    assert meta["labels"]["kueue.x-k8s.io/podset"] == "worker"
    assert meta["annotations"]["kueue.x-k8s.io/workload"] == "w1"
    assert meta["annotations"]["kueue.x-k8s.io/podset-unconstrained-topology"] == "true"  # else Kueue passes it by


def test_a_gang_that_is_packed_is_placed_as_a_whole() -> None:
    def constraints(job: JobBuilder) -> list[object]:
        whole = job.kind.job(job.build())
        whole.start_together()
        made = [Native().declaration(group, Native.kinds[0], "Job") for group in pod_groups(whole)]
        return [one.content["spec"].get("schedulingConstraints") for one in made]

    assert constraints(torch(**PACKED)) == [{"topology": [{"key": RACK}]}]
    assert constraints(torch(strategy="Pack")) == [None]
    assert constraints(torch(strategy="Spread", whenUnsatisfiable="DoNotSchedule")) == [None]
    assert constraints(torch_job().master().workers(3, placement=PACKED)) == [None]  # one of two roles


def test_a_gang_has_another_name_for_another_place() -> None:
    """Its constraint is immutable, and the job may be edited while it is suspended."""

    def name(job: JobBuilder) -> str:
        return next(iter(pod_groups(job.kind.job(job.build())))).name

    long = torch_job("a" * 50).master()
    names = [name(long), *(name(long.with_spec(placement={**PACKED, "topologyKey": key})) for key in (RACK, "zone"))]
    assert len(set(names)) == 3
    assert max(map(len, names)) <= 63


def test_a_queue_that_does_not_exist_is_left_to_kueue() -> None:
    assert refused(torch(nodePools=POOLS), Queues()) == ""
