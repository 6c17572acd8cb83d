"""`spec.spot` on a real API server, and a real scheduler that sends pods to the nodes of their pools."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.drivers.environment import Stage
from harness.drivers.proxied_operator import ProxiedOperator
from harness.fakes.pools import ON_DEMAND, SPOT, pool_node
from harness.scenarios.driver import ScenarioDriver
from harness.scenarios.spot import spot_job, until_placed, until_spot
from kubedl.training.kinds import all_kinds
from testbed.api import ApiError
from testbed.cluster import Cluster
from tests.cluster.test_elastic import BOUNDS, group, job, write  # noqa: F401 - a fixture
from tests.cluster.test_schema import TRY, UNSERVED, installed, jobs, quiet_jobs  # noqa: F401 - fixtures
from tests.unit.training.spot.dates import BAD, GOOD

Object = dict[str, Any]

WORK = {"seconds": 3600}
CHECKPOINT = {**BOUNDS, "checkpoint": {}}
SOON = "2027-01-01T00:00:00Z"


def spot(elastic: Object | None = None, *, spec: Object | None = None, **fields: object) -> Object:
    """A job with these fields of spot."""
    return job(2, elastic=elastic or BOUNDS, spot={"pools": ["a"], **fields}, **(spec or {}))


def without_elastic() -> Object:
    made = spot()
    del made["spec"]["elastic"]
    return made


def with_policy() -> Object:
    made = without_elastic()
    made["spec"]["elasticPolicy"] = BOUNDS
    return made


def with_role(**fields: object) -> Object:
    made = spot()
    made["spec"]["pytorchReplicaSpecs"]["Worker"] |= fields
    return made


NODE_POOLS = {"nodePools": [{"name": "x", "nodeSelector": {"a": "b"}}]}
REFUSED: dict[str, tuple[Object, str]] = {
    "no pool": (spot(pools=[]), "should have at least 1 items"),
    "a pool twice": (spot(pools=["a", "a"]), "Duplicate value"),
    "no name of a pool": (spot(pools=["A B"]), "the name of a pool has lower-case letters"),
    "a price": (spot(maxCost="5"), 'unknown field "spec.spot.maxCost"'),
    "steps": (spot(CHECKPOINT, deadline=SOON, work={"steps": 5}), 'unknown field "spec.spot.work.steps"'),
    "two deadlines": (spot(CHECKPOINT, deadline=SOON, deadlineSeconds=5, work=WORK), "both say when the job has to be"),
    "a deadline without work": (spot(CHECKPOINT, deadline=SOON), "a deadline needs work.seconds"),
    "work without a deadline": (spot(work=WORK), "work has an effect with deadline or deadlineSeconds only"),
    "an answer without a question": (spot(onMaxWait="Fail"), "onMaxWait has an effect with maxWaitSeconds only"),
    "another answer": (spot(maxWaitSeconds=5, onMaxWait="Pray"), 'Unsupported value: "Pray"'),
    "a deadline without reports": (spot(deadline=SOON, work=WORK), "a deadline needs elastic.checkpoint"),
    "not elastic": (without_elastic(), "a job on spot nodes is elastic"),
    "by a restart": (spot({**BOUNDS, "resize": "Restart"}), "a job that restarts to be resized cannot train with some"),
    "elasticPolicy": (with_policy(), "elasticPolicy and spot cannot be used together"),
    "node pools": (spot(spec={"placement": NODE_POOLS}), "nodePools and spot both choose the nodes"),
    "node pools of a role": (with_role(placement=NODE_POOLS), "nodePools and spot both choose the nodes"),
    "spot replicas": (with_role(spotReplicaSpec={"spotReplicaNumber": 1}), "spotReplicaSpec and spot both say"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_says_what_to_do(cluster: Cluster, group: str, case: str) -> None:  # noqa: F811
    made, text = REFUSED[case]
    with pytest.raises(ApiError) as refused:
        cluster.api.create(f"{group}/pytorchjobs?{TRY}", made)
    assert text in str(refused.value)


@pytest.mark.parametrize("text", [*BAD, "2026-02-30T00:00:00Z", "2026-12-01T08:00:00Z" + " " * 40])
def test_what_is_no_date_is_refused(cluster: Cluster, group: str, text: str) -> None:  # noqa: F811
    with pytest.raises(ApiError, match=r"spec\.spot"):
        cluster.api.create(f"{group}/pytorchjobs?{TRY}", spot(CHECKPOINT, deadline=text, work=WORK))


@pytest.mark.parametrize("text", GOOD)
def test_dates_are_kept_as_they_are_written(cluster: Cluster, group: str, text: str) -> None:  # noqa: F811
    made = cluster.api.create(f"{group}/pytorchjobs?{TRY}", spot(CHECKPOINT, deadline=text, work=WORK))
    assert made["spec"]["spot"]["deadline"] == text


@pytest.mark.parametrize("kind", sorted(one.kind for one in all_kinds() if not one.resizes_in_place))
def test_other_kinds_refuse_it_with_a_reason(cluster: Cluster, group: str, kind: str) -> None:  # noqa: F811
    declared = next(one for one in all_kinds() if one.kind == kind)
    template = {"spec": {"containers": [{"name": declared.container, "image": "none"}]}}
    roles = {role.name: {"replicas": 1, "template": template} for role in declared.roles}
    body = {
        "apiVersion": f"{UNSERVED}/v1alpha1",
        "kind": kind,
        "metadata": {"name": "any"},
        "spec": {declared.replicas_field: roles, "spot": {"pools": ["a"]}},
    }
    with pytest.raises(ApiError, match=f"Forbidden: the replicas of a {kind} cannot come and go while it trains"):
        cluster.api.create(f"{group}/{declared.plural}?{TRY}", body)


def test_pools_change_only_while_suspended_and_patience_at_any_time(cluster: Cluster, group: str) -> None:  # noqa: F811
    path = f"{group}/pytorchjobs/bert"
    cluster.api.create(f"{group}/pytorchjobs", spot(CHECKPOINT, deadline=SOON, work=WORK))
    write(cluster, path, spot={"deadline": "2027-02-01T00:00:00Z", "maxWaitSeconds": 5, "onMaxWait": "Fail"})
    for fields in ({"pools": ["a", "b"]}, {"minOnDemand": 1}):
        with pytest.raises(ApiError, match="suspend the job to change pools and minOnDemand"):
            write(cluster, path, spot=fields)
    with pytest.raises(ApiError, match="suspend the job to add or remove spot"):
        write(cluster, path, spot=None)
    write(cluster, path, suspend=True, spot={"pools": ["b"], "minOnDemand": 1})


@pytest.fixture
def operator(ready_stage: Stage, namespace: str) -> Iterator[ProxiedOperator]:
    """One that serves the namespace, and knows two pools."""
    with ProxiedOperator(ready_stage, namespace, ("--no-leader-election", "--namespace", namespace)) as made:
        made.start()
        yield made


@pytest.fixture
def world(ready_stage: Stage, namespace: str, operator: ProxiedOperator) -> ScenarioDriver:
    """The namespace."""
    return ScenarioDriver(ready_stage.watcher, namespace, ready_stage.node, tend=operator.tend)


def conditions(status: Object) -> dict[str, str]:
    """The reasons of those that hold."""
    return {one["type"]: one["reason"] for one in status.get("conditions", ()) if one["status"] == "True"}


def test_pods_go_to_the_nodes_of_their_pools(world: ScenarioDriver) -> None:
    """The first one on demand, the second on spot as soon as there is a node; meanwhile the job trains without it."""
    server = world.watcher.connection
    with pool_node(server, ON_DEMAND, world.namespace) as steady:
        made = spot_job(world, "both", minOnDemand=1)
        until_placed(made, steady, "worker-0")
        made.run("worker-0")
        made.until("the job to run without the other", lambda: "Shrunk" in conditions(made.status()))
        assert made.status()["state"] == "Running"
        until_spot(made, pools={ON_DEMAND: "0", SPOT: "1"})
        with pool_node(server, SPOT, world.namespace) as cheap:
            until_placed(made, cheap, "worker-1")
            made.run("worker-1")
            made.until("all to train", lambda: "Shrunk" not in conditions(made.status()))
            labels = made.pod("worker-1")["metadata"]["labels"]
            assert labels["training.kubedl.io/pool"] == SPOT


def test_without_the_first_replica_it_is_said(world: ScenarioDriver) -> None:
    with pool_node(world.watcher.connection, SPOT, world.namespace) as cheap:
        made = spot_job(world, "headless", minOnDemand=1)
        until_placed(made, cheap, "worker-1")
        made.until("the condition", lambda: conditions(made.status()).get("WaitingForSpot") == "LeaderWithoutNode")


def test_a_pool_that_nobody_knows_is_refused(world: ScenarioDriver) -> None:
    made = spot_job(world, "lost", pools=["moon"])
    made.until_status(state="Failed", reason="PoolNotFound")
