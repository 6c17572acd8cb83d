"""Placement wishes, honoured by the real scheduler on simulated nodes, and by the real Kueue."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from harness.drivers import team_queue
from harness.drivers.operator_process import Operator
from harness.drivers.team_queue import API, QUEUE, VERSION
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.cluster.slot_jobs import JOB, PODS, SlotJobs

NODES = (1, 2, 3, 4)
WAIT = "DoNotSchedule"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
SPOT = {"mixed-worker-1", "mixed-worker-2"}


class PlacedJobs(SlotJobs):
    """On nodes of two racks: 1 and 2 are spot nodes in rack a, 3 and 4 are on-demand nodes in rack b."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        super().__init__(cluster, namespace)
        self.rack, self.tier = f"{namespace}.example/rack", f"{namespace}.example/tier"

    def label(self, node: int, **labels: str | None) -> None:
        """Labels by their last part; None removes one."""
        changes = [f"{self.namespace}.example/{key}{'-' if to is None else f'={to}'}" for key, to in labels.items()]
        self.cluster.kubectl("label", "--overwrite", "node", f"kwok-{node}", *changes)

    def furnish(self) -> None:
        for node in NODES:
            early = node <= 2
            self.label(node, rack="a" if early else "b", tier="spot" if early else "on-demand")

    def clear(self) -> None:
        for node in NODES:
            self.label(node, rack=None, tier=None)
            self.offer_on(node, None)

    def offer_each(self, *numbers: int) -> None:
        """Slots on nodes 1, 2, 3 and 4."""
        for node, number in zip(NODES, numbers, strict=True):
            self.offer_on(node, number)

    def pools(self, *tiers: str) -> list[dict[str, object]]:
        return [{"name": tier, "nodeSelector": {self.tier: tier}} for tier in tiers]

    def nodes(self, name: str) -> Counter[int]:
        """How many pods of a job are on each node."""
        places = [pod["spec"].get("nodeName") for pod in self.pods() if pod["metadata"]["labels"][JOB] == name]
        return Counter(int(place.removeprefix("kwok-")) for place in places if place)

    def all_placed(self, name: str, number: int = PODS) -> Counter[int]:
        until(f"all pods of {name} on nodes", lambda: self.nodes(name).total() == number, deadline=120)
        return self.nodes(name)

    def unmet(self, name: str) -> str:
        """The message of the condition while it is True."""
        conditions = self.status(name).get("conditions", ())
        found = (one for one in conditions if (one["type"], one["status"]) == ("PlacementUnmet", "True"))
        return next((one["message"] for one in found), "")


@pytest.fixture
def placed(control_plane: Cluster, namespace: str) -> Iterator[PlacedJobs]:
    """With labelled nodes, and no slots yet."""
    control_plane.up(kwok=len(NODES), keep=False)
    made = PlacedJobs(control_plane, namespace)
    made.furnish()
    with Operator(control_plane, arguments=("--namespace", namespace)):
        yield made
    made.clear()


def test_pods_are_spread_or_packed(placed: PlacedJobs) -> None:
    """Each node has room for all: only the wish decides."""
    placed.offer_each(12, 12, 12, 12)
    strict = {"topologyKey": placed.rack, "whenUnsatisfiable": WAIT}
    placed.create("apart", placement={"strategy": "Spread"})
    placed.create("racks", placement={"strategy": "Spread", **strict})
    placed.create("close", placement={"strategy": "Pack"})
    placed.create("rack", placement={"strategy": "Pack", **strict})
    assert placed.all_placed("apart") == dict.fromkeys(NODES, 1)
    racks = placed.all_placed("racks")
    assert racks[1] + racks[2] == 2
    assert len(placed.all_placed("close")) == 1
    rack = placed.all_placed("rack")
    assert rack[1] + rack[2] in (0, PODS)


def test_a_gang_is_packed_where_all_of_it_fits(placed: PlacedJobs) -> None:
    """The first rack has more room on one node, and not enough for all."""
    placed.offer_each(3, 0, 2, 2)
    wish = {"strategy": "Pack", "topologyKey": placed.rack, "whenUnsatisfiable": WAIT}
    placed.create("whole", placement=wish, schedulingPolicy={"gangScheduler": "native"})
    assert placed.all_placed("whole") == {3: 2, 4: 2}


def test_the_first_pool_is_used_first_and_the_last_given_back_first(placed: PlacedJobs) -> None:
    placed.offer_each(1, 1, 4, 4)
    placed.create("pools", placement={"nodePools": placed.pools("spot", "on-demand")})
    found = placed.all_placed("pools")
    assert (found[1], found[2], found[3] + found[4]) == (1, 1, 2)
    placed.edit("pools", suspend=True)
    until("no pods", lambda: not placed.pods(), deadline=120)
    placed.edit("pools", suspend=False, pytorchReplicaSpecs={"Worker": {"replicas": 1}})
    assert placed.all_placed("pools", 2) == {1: 1, 2: 1}


def test_spot_replicas_are_preempted_first(placed: PlacedJobs) -> None:
    """Another job takes their slots and no others: only their class is below its own."""
    server, low = placed.cluster.api, f"{placed.namespace}-low"
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": low}, "value": -10}
    server.create(CLASSES, body)
    placed.offer_each(PODS, 0, 0, 0)
    placed.create("mixed", suspend=True, restartScope="Replica")
    spot = {"spotReplicaNumber": 2, "priorityClassName": low, "labels": {"tier": "spot"}}
    placed.edit("mixed", suspend=False, pytorchReplicaSpecs={"Worker": {"spotReplicaSpec": spot}})
    placed.all_placed("mixed")
    assert _names(placed, lambda pod: pod["metadata"]["labels"].get("tier") == "spot") == SPOT
    before = _names(placed, lambda pod: "nodeName" in pod["spec"])
    placed.create("urgent", restartScope="Replica")
    placed.all_placed("urgent", 2)
    left = _names(placed, lambda pod: pod["metadata"]["labels"][JOB] == "mixed" and "nodeName" in pod["spec"])
    assert left == before - SPOT
    server.delete(f"{CLASSES}/{low}")


def _names(placed: PlacedJobs, wanted: Callable[[Object], bool]) -> set[str]:
    return {pod["metadata"]["name"] for pod in placed.pods() if wanted(pod)}


def test_what_no_node_can_satisfy_is_said_until_one_can(placed: PlacedJobs) -> None:
    placed.offer_each(4, 4, 4, 4)
    wish = {"strategy": "Pack", "topologyKey": f"{placed.namespace}.example/block", "whenUnsatisfiable": WAIT}
    placed.create("nowhere", placement={**wish, "nodePools": placed.pools("reserved")})
    text = f"no node is in the pool reserved ({placed.tier}=reserved)"
    until("its reason", partial(placed.says, "nowhere", f"no node has the label {wish['topologyKey']}"), deadline=90)
    assert placed.status("nowhere")["reason"] == "Unschedulable"
    assert text in placed.unmet("nowhere")
    placed.label(4, block="1", tier="reserved")
    assert placed.all_placed("nowhere") == {4: PODS}
    until("the condition to end", lambda: not placed.unmet("nowhere"), deadline=90)
    placed.label(4, block=None)


def test_kueue_chooses_the_nodes_of_a_job_that_is_packed(placed: PlacedJobs) -> None:
    """By the levels of its topology: rack a has room for three, rack b for four, and two roles are one group."""
    placed.cluster.add_kueue()
    placed.offer_each(2, 1, 2, 2)
    server = placed.cluster.api
    levels = [{"nodeLabel": placed.rack}, {"nodeLabel": "kubernetes.io/hostname"}]
    topology = {"apiVersion": VERSION, "kind": "Topology", "metadata": {"name": placed.namespace}}
    server.create(f"{API}/topologies", {**topology, "spec": {"levels": levels}})
    team_queue.publish(server, placed.namespace, 100, placed.slot, {"type": "kwok"}, topology=placed.namespace)
    wish = {"strategy": "Pack", "topologyKey": placed.rack, "whenUnsatisfiable": WAIT}
    placed.create("whole", placement=wish, schedulingPolicy={"queue": QUEUE})
    assert placed.all_placed("whole") == {3: 2, 4: 2}
    placed.create("apart", placement={"strategy": "Spread"}, schedulingPolicy={"queue": QUEUE})
    until("a refusal", partial(placed.says, "apart", "SpreadNotPossible"), deadline=90)
    placed.create("level", placement={**wish, "topologyKey": "no-level"}, schedulingPolicy={"queue": QUEUE})
    # In a condition: the line of `kubectl get` has no room for all of Kueue's words beside the position in the queue.
    refusal = "does not contain the requested level"
    until("Kueue's refusal", lambda: refusal in str(placed.status("level").get("conditions")), deadline=90)


def test_a_queue_with_flavors_in_another_order_than_the_pools_is_refused(placed: PlacedJobs) -> None:
    placed.cluster.add_kueue()
    placed.offer_each(4, 4, 4, 4)
    tiers = [{placed.tier: tier} for tier in ("on-demand", "spot")]
    team_queue.publish(placed.cluster.api, placed.namespace, PODS, placed.slot, *tiers)
    wish = partial(placed.create, schedulingPolicy={"queue": QUEUE})
    wish("refused", placement={"nodePools": placed.pools("spot", "on-demand")})
    until("a refusal", partial(placed.says, "refused", "NodePoolOrder: the queue tries flavor"), deadline=90)
    wish("first", placement={"nodePools": placed.pools("on-demand", "spot")})
    assert set(placed.all_placed("first")) <= {3, 4}
    wish("second", placement={"nodePools": placed.pools("on-demand", "spot")})
    assert set(placed.all_placed("second")) <= {1, 2}
