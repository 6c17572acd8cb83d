"""Placement wishes: what pods get, what templates exclude, and what no node can satisfy."""

from dataclasses import replace
from typing import Any

import pytest

from kubedl.api.conditions import find, is_true
from kubedl.kube.types.core import Node
from kubedl.kube.types.meta import ObjectMeta
from kubedl.runtime.store import Store
from kubedl.training import pods
from kubedl.training.addons import registry
from kubedl.training.addons.base import AddonError
from kubedl.training.nodes import NodeView
from kubedl.training.observed import Settings
from kubedl.training.placement.observation import observe_placement
from kubedl.training.placement.pod_spec import PREFERRED, REQUIRED
from kubedl.training.plan import Plan
from kubedl.training.planner import plan
from tests.training_builders import NOW, JobBuilder, after, decide, observed, pod, tf_job

Object = dict[str, Any]

HOST, RACK = "kubernetes.io/hostname", "example/rack"
SPOT = {"name": "spot", "nodeSelector": {"tier": "spot"}, "tolerations": [{"key": "spot", "operator": "Exists"}]}
DEMAND = {"name": "on-demand", "nodeSelector": {"tier": "on-demand"}}
RESERVED = {"name": "reserved", "nodeSelector": {"tier": "reserved"}}


def job(template: Object | None = None, **placement: object) -> JobBuilder:
    """A parameter server and two workers, with a template that has more."""
    made = tf_job()
    spec = {"spec": {**made.template()["spec"], **(template or {})}}
    return made.ps(1, template=spec).workers(2, template=spec).with_spec(placement=placement)


def specs(made: JobBuilder) -> dict[str, Object]:
    """The spec of the first pod of each role."""
    whole = made.kind.job(made.build())
    found = [one for one in whole.replicas() if one.index == 0]
    return {
        one.role: pods.render(made.kind, whole, one, 0, scope="Replica", settings=Settings())["spec"] for one in found
    }


def spec(template: Object | None = None, **placement: object) -> Object:
    return specs(job(template, **placement))["Worker"]


def selected(selector: Object) -> list[str]:
    """The roles that a selector counts, all of this job."""
    [roles] = selector["matchExpressions"]
    assert selector["matchLabels"] == {"training.kubedl.io/job-uid": "uid-mnist"}
    assert (roles["key"], roles["operator"]) == ("training.kubedl.io/replica-type", "In")
    return list(roles["values"])


def test_a_job_without_wishes_is_left_alone() -> None:
    made = tf_job().workers(2)
    assert {"affinity", "tolerations", "topologySpreadConstraints"}.isdisjoint(specs(made)["Worker"])


@pytest.mark.parametrize("given", [{}, {"whenUnsatisfiable": "DoNotSchedule"}])
def test_spread_is_an_even_number_of_pods_in_every_place(given: Object) -> None:
    [constraint] = spec(strategy="Spread", topologyKey=RACK, **given)["topologySpreadConstraints"]
    assert (constraint["maxSkew"], constraint["topologyKey"]) == (1, RACK)
    assert constraint["whenUnsatisfiable"] == given.get("whenUnsatisfiable", "ScheduleAnyway")
    assert selected(constraint["labelSelector"]) == ["ps", "worker"]
    assert constraint["nodeTaintsPolicy"] == "Honor"  # else the nodes of others count as empty places


def test_pack_is_an_affinity_to_the_pods_of_the_job() -> None:
    [wanted] = spec(strategy="Pack")["affinity"]["podAffinity"][PREFERRED]
    assert (wanted["weight"], wanted["podAffinityTerm"]["topologyKey"]) == (100, HOST)
    assert selected(wanted["podAffinityTerm"]["labelSelector"]) == ["ps", "worker"]
    affinity = spec(strategy="Pack", whenUnsatisfiable="DoNotSchedule", topologyKey=RACK)["affinity"]["podAffinity"]
    assert PREFERRED not in affinity
    assert [term["topologyKey"] for term in affinity[REQUIRED]] == [RACK]


@pytest.mark.parametrize("placement", [{"strategy": "Pack"}, {"nodePools": [SPOT, DEMAND]}])
def test_the_scheduler_does_not_spread_by_default_what_should_be_elsewhere(placement: Object) -> None:
    """A pod with a constraint of its own gets no default ones; this one selects no pods."""
    [constraint] = spec(**placement)["topologySpreadConstraints"]
    assert constraint == {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway"}
    own = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    assert spec({"topologySpreadConstraints": [own]}, **placement)["topologySpreadConstraints"] == [own]


def terms(found: Object) -> list[list[tuple[str, tuple[str, ...]]]]:
    """The required node selector terms, in short."""
    given = found["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    return [[(one["key"], tuple(one.get("values", ()))) for one in term["matchExpressions"]] for term in given]


def test_pods_use_the_pools_and_no_other_nodes_the_first_ones_preferably() -> None:
    found = spec(nodePools=[SPOT, DEMAND, RESERVED])
    assert terms(found) == [[("tier", (name,))] for name in ("spot", "on-demand", "reserved")]
    preferred = found["affinity"]["nodeAffinity"][PREFERRED]
    weights = {one["preference"]["matchExpressions"][0]["values"][0]: one["weight"] for one in preferred}
    assert weights == {"spot": 100, "on-demand": 50}
    assert found["tolerations"] == SPOT["tolerations"]


def test_one_pool_needs_no_order() -> None:
    found = spec(nodePools=[DEMAND])
    assert terms(found) == [[("tier", ("on-demand",))]]
    assert PREFERRED not in found["affinity"]["nodeAffinity"]
    assert {"tolerations", "topologySpreadConstraints"}.isdisjoint(found)


def test_what_the_template_says_about_nodes_holds_too() -> None:
    either = [{"matchExpressions": [{"key": "gpu", "operator": "In", "values": [name]}]} for name in ("a", "b")]
    wish = {"weight": 7, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}
    given = {
        "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": either}, PREFERRED: [wish]}},
        "tolerations": [{"key": "mine"}],
        "nodeSelector": {"zone": "1"},
    }
    found = spec(given, nodePools=[SPOT, DEMAND])
    both = [[("gpu", (gpu,)), ("tier", (tier,))] for tier in ("spot", "on-demand") for gpu in ("a", "b")]
    assert terms(found) == both
    assert found["affinity"]["nodeAffinity"][PREFERRED][0] == wish
    assert found["tolerations"] == [{"key": "mine"}, *SPOT["tolerations"]]
    assert found["nodeSelector"] == {"zone": "1"}


def test_an_empty_term_of_the_template_does_not_open_a_whole_pool() -> None:
    """It matches no node, beside others and alone."""
    term = {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["a"]}]}
    given: Object = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}, term]}}}}
    assert terms(spec(given, nodePools=[SPOT])) == [[("gpu", ("a",)), ("tier", ("spot",))]]
    given = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": []}]}}}}
    refused = registry.refusal(job(given, nodePools=[SPOT]).build())
    assert refused is not None
    assert "no node of the pool spot can satisfy" in refused[1]


def test_a_role_with_a_wish_of_its_own_is_counted_alone() -> None:
    made = (
        tf_job()
        .ps(1, placement={"strategy": "Spread"})
        .workers(2)
        .evaluator()
        .with_spec(placement={"strategy": "Pack", "whenUnsatisfiable": "DoNotSchedule"})
    )
    found = specs(made)
    assert selected(found["PS"]["topologySpreadConstraints"][0]["labelSelector"]) == ["ps"]
    assert "affinity" not in found["PS"]
    for role in ("Worker", "Evaluator"):
        [term] = found[role]["affinity"]["podAffinity"][REQUIRED]
        assert selected(term["labelSelector"]) == ["evaluator", "worker"]


def test_a_wish_for_one_role_is_not_for_others() -> None:
    found = specs(tf_job().ps(1).workers(2, placement={"nodePools": [SPOT]}))
    assert "affinity" not in found["PS"]
    assert terms(found["Worker"]) == [[("tier", ("spot",))]]


SPREAD_HOSTS = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway"}


def near(labels: Object, key: str = HOST) -> Object:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


def on(*values: str, operator: str = "In") -> Object:
    expression = {"key": "tier", "operator": operator, "values": list(values)}
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}}


OF_THE_JOB, OF_OTHERS = {"job-name": "mnist"}, {"app": "server"}


@pytest.mark.parametrize(
    ("template", "placement", "text"),
    [
        ({"nodeName": "node1"}, {"strategy": "Pack"}, "nodeName"),
        (
            {"topologySpreadConstraints": [SPREAD_HOSTS]},
            {"strategy": "Spread"},
            f"topologySpreadConstraints for {HOST}",
        ),
        (
            {"affinity": {"podAntiAffinity": {REQUIRED: [near(OF_THE_JOB)]}}},
            {"strategy": "Pack"},
            f"podAntiAffinity for {HOST}",
        ),
        (
            {"affinity": {"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": near(OF_THE_JOB)}]}}},
            {"strategy": "Spread"},
            f"podAffinity for {HOST}",
        ),
        ({"nodeSelector": {"tier": "spot"}}, {"nodePools": [SPOT, DEMAND]}, "no node of the pool on-demand has"),
        (on("spot", "reserved"), {"nodePools": [SPOT, DEMAND]}, "no node of the pool on-demand can satisfy"),
        (on("spot", operator="NotIn"), {"nodePools": [SPOT]}, "no node of the pool spot can satisfy"),
        (on(operator="DoesNotExist"), {"nodePools": [SPOT]}, "no node of the pool spot can satisfy"),
    ],
)
def test_a_template_that_excludes_the_wish_fails_the_job(template: Object, placement: Object, text: str) -> None:
    decided = decide(job(template, **placement))
    assert (decided.status.state, decided.status.reason) == ("Failed", "PlacementInvalid")
    failed = find(decided.status.conditions, "Failed")
    assert failed is not None
    assert failed.message.startswith("the template of PS has ")
    assert text in failed.message
    assert not decided.creations


@pytest.mark.parametrize(
    ("template", "placement"),
    [
        ({"affinity": {"podAntiAffinity": {REQUIRED: [near(OF_OTHERS)]}}}, {"strategy": "Pack"}),
        ({"affinity": {"podAntiAffinity": {REQUIRED: [near(OF_THE_JOB, RACK)]}}}, {"strategy": "Pack"}),
        ({"topologySpreadConstraints": [SPREAD_HOSTS]}, {"strategy": "Pack", "topologyKey": RACK}),
        ({"topologySpreadConstraints": [SPREAD_HOSTS]}, {"nodePools": [SPOT]}),
        ({"nodeSelector": {"zone": "1"}}, {"nodePools": [SPOT]}),
        (on("spot", "on-demand"), {"nodePools": [SPOT, DEMAND]}),
        (on("9", operator="Gt"), {"nodePools": [SPOT]}),
        ({"affinity": {"podAffinity": {REQUIRED: 5}}}, {"nodePools": [SPOT]}),  # the API server says what is wrong
    ],
)
def test_a_template_that_says_something_else_is_accepted(template: Object, placement: Object) -> None:
    assert registry.refusal(job(template, **placement).build()) is None


def test_a_topology_request_to_kueue_in_the_template_excludes_a_strategy() -> None:
    made = tf_job()
    template = {**made.template(), "metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": RACK}}}
    refused = registry.refusal(made.workers(1, template=template, placement={"strategy": "Pack"}).build())
    assert refused is not None
    assert "podset-required-topology" in refused[1]


def test_node_selector_terms_are_bounded() -> None:
    many: Object = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{}] * 40}}}}
    refused = registry.refusal(job(many, nodePools=[SPOT, DEMAND]).build())
    assert refused is not None
    assert "at most 32" in refused[1]


def view(*labels: Object) -> NodeView:
    nodes: Store[Node] = Store()
    for number, one in enumerate(labels):
        nodes.put(Node(metadata=ObjectMeta(name=f"node{number}", labels={HOST: f"node{number}", **one})))
    return NodeView(nodes, Settings())


def reasons(made: JobBuilder, nodes: NodeView) -> list[str]:
    return [f"{reason}: {text}" for reason, text in observe_placement(made.build(), nodes, NOW)]


def test_what_no_node_has_is_named() -> None:
    wish = job(strategy="Pack", topologyKey=RACK, nodePools=[SPOT, DEMAND])
    assert reasons(wish, view({"tier": "on-demand"})) == [
        "TopologyKeyNotFound: no node has the label example/rack: strategy Pack has no effect",
        "NodePoolEmpty: no node is in the pool spot (tier=spot)",
    ]
    assert reasons(wish, view({"tier": "on-demand"}, {"tier": "spot", RACK: "1"})) == []
    required = job(strategy="Spread", topologyKey=RACK, whenUnsatisfiable="DoNotSchedule")
    assert reasons(required, view({})) == ["TopologyKeyNotFound: no node has the label example/rack: the pods wait"]


def test_nothing_is_said_of_nodes_that_cannot_be_read() -> None:
    assert reasons(job(strategy="Pack", topologyKey=RACK), view()) == []


def test_labels_are_looked_for_again_when_time_has_passed() -> None:
    nodes: Store[Node] = Store()
    nodes.put(Node(metadata=ObjectMeta(name="a")))
    found = NodeView(nodes, Settings())
    assert not found.have_labels({"tier": "spot"}, NOW)
    nodes.put(Node(metadata=ObjectMeta(name="b", labels={"tier": "spot"})))
    assert not found.have_labels({"tier": "spot"}, NOW)  # counted a moment ago
    assert found.have_labels({"tier": "spot"}, after(1))


UNMET = (("NodePoolEmpty", "no node is in the pool spot (tier=spot)"),)


def decided(made: JobBuilder, *found: Any, unmet: Any = UNMET) -> Plan:  # noqa: ANN401
    return plan(replace(observed(made, *found), unmet_placement=unmet))


def test_the_job_says_what_is_unmet_and_creates_pods_all_the_same() -> None:
    """A node may come: of an autoscaler, for pods that wait."""
    made = job(nodePools=[SPOT, DEMAND])
    first = decided(made)
    condition = find(first.status.conditions, "PlacementUnmet")
    assert condition is not None
    assert (condition.status, condition.reason, condition.message) == ("True", *UNMET[0])
    assert first.creations
    assert [event.reason for event in first.events if event.type == "Warning"] == ["NodePoolEmpty"]
    again = decided(made.with_status(conditions=first.status.conditions), unmet=())
    assert not is_true(again.status.conditions, "PlacementUnmet")


def test_pods_that_wait_for_nodes_say_which_pool_is_empty() -> None:
    made = job(nodePools=[SPOT])
    waits = pod(made, "PS").condition("PodScheduled", "False", "Unschedulable", "0/2 nodes are available")
    message = decided(made, waits).status.message
    assert message.startswith("Unschedulable: no node is in the pool spot (tier=spot); 0/2 nodes")


def test_a_job_that_has_ended_has_no_unmet_wish() -> None:
    made = job(nodePools=[SPOT]).said("PlacementUnmet").with_spec(activeDeadlineSeconds=1)
    ended = decided(made.with_status(start_time=after(-10)))
    assert ended.status.state == "Failed"
    assert not is_true(ended.status.conditions, "PlacementUnmet")


def test_an_edit_that_contradicts_the_template_blocks_new_pods() -> None:
    """A running job is not failed by an edit."""
    made = job({"nodeName": "node1"}, strategy="Pack").with_status(start_time=NOW)
    assert decide(made).creations
    with pytest.raises(AddonError, match="nodeName"):
        specs(made)
