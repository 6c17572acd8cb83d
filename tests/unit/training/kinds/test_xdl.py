"""XDLJob: its cluster, its place in ZooKeeper, and how many workers are enough."""

import msgspec
import pytest

from kubedl.training.kinds.xdl import XDL
from tests.training_builders import JobBuilder
from tests.unit.training.kinds.pod_env import environment, is_done, order, pod

JOB = JobBuilder(XDL(), "ads")
WHOLE = JOB.ps(1).role("Scheduler").workers(8).role("ExtendRole", 2)


def test_everybody_knows_the_cluster_and_its_part() -> None:
    """Exactly so."""
    job = JOB.workers(2).ps(1)
    found = environment(job, "Worker", 1)
    assert {name: found[name] for name in ("TASK_NAME", "TASK_INDEX")} == {"TASK_NAME": "worker", "TASK_INDEX": "1"}
    assert msgspec.json.decode(found["XDL_CONFIG"]) == {
        "cluster": {
            "ps": ["ads-ps-0.ads.team.svc:2222"],
            "worker": ["ads-worker-0.ads.team.svc:2222", "ads-worker-1.ads.team.svc:2222"],
        },
        "task": {"type": "worker", "index": 1},
    }


@pytest.mark.parametrize("given", ["zfs://zk-0:2181/xdl", "zfs://zk-0:2181/xdl/"])
def test_a_job_has_a_place_of_its_own_in_zookeeper(given: str) -> None:
    """In every container that is given an address; other variables stay as they are."""
    template = JOB.template()
    variables = [{"name": "ZK_ADDR", "value": given}, {"name": "OTHER", "value": given}]
    template["spec"]["containers"][0]["env"] = variables
    template["spec"]["containers"].append({"name": "proxy", "env": variables[:1]})
    main, proxy = pod(JOB.workers(1, template=template), "Worker")["spec"]["containers"]
    assert {"name": "ZK_ADDR", "value": "zfs://zk-0:2181/xdl/uid-ads"} in main["env"]
    assert {"name": "ZK_ADDR", "value": "zfs://zk-0:2181/xdl/uid-ads"} in proxy["env"]
    assert {"name": "OTHER", "value": given} in main["env"]


def test_an_address_from_elsewhere_is_left_alone() -> None:
    """Nothing can be appended to what only the kubelet knows."""
    template = JOB.template()
    variable = {"name": "ZK_ADDR", "valueFrom": {"configMapKeyRef": {"name": "zk", "key": "address"}}}
    template["spec"]["containers"][0]["env"] = [variable]
    [main] = pod(JOB.workers(1, template=template), "Worker")["spec"]["containers"]
    assert variable in main["env"]


@pytest.mark.parametrize(
    ("spec", "finished", "expected"),
    [
        ({}, {"Worker": set(range(8))}, False),
        ({}, {"Worker": set(range(7)), "ExtendRole": {0}}, False),
        ({}, {"Worker": set(range(7)), "ExtendRole": {0, 1}}, True),
        ({"minFinishWorkRate": 45}, {"Worker": {1, 3, 5, 7}}, False),
        ({"minFinishWorkRate": 45}, {"Worker": {1, 3, 5, 7}, "ExtendRole": {0}}, True),
        ({"minFinishWorkNum": 3}, {"Worker": {0, 1}}, False),
        ({"minFinishWorkNum": 3}, {"Worker": {0, 1, 7}}, True),
        ({"minFinishWorkNum": 99}, {"Worker": set(range(8)), "ExtendRole": {0}}, False),
        ({"minFinishWorkNum": 99}, {"Worker": set(range(8)), "ExtendRole": {0, 1}}, True),
        ({"minFinishWorkNum": 1, "minFinishWorkRate": 50}, {"Worker": {0}}, False),
        ({"minFinishWorkNum": 1, "minFinishWorkRate": 1}, {"PS": {0}, "Scheduler": {0}}, False),
    ],
)
def test_enough_workers_decide(spec: dict[str, int], finished: dict[str, set[int]], expected: bool) -> None:
    """Ten of them, both roles counted: nine tenths unless told otherwise; the rate outranks the number."""
    assert expected == is_done(WHOLE.with_spec(**spec), **finished)


@pytest.mark.parametrize(("finished", "expected"), [({}, False), ({"PS": {0}}, False), ({"PS": {0, 1}}, True)])
def test_without_workers_everybody_is_needed(finished: dict[str, set[int]], expected: bool) -> None:
    """A job is not done before it has begun."""
    assert expected == is_done(JOB.ps(2), **finished)


def test_defaults() -> None:
    """All begin at once, nobody is tried again unless the user says so, and then twenty times."""
    assert order(WHOLE) == {name: ("Never", []) for name in ("PS", "Scheduler", "Worker", "ExtendRole")}
    view = JOB.kind.job(WHOLE.build())
    assert (JOB.kind.restart_scope(view), view.spec.backoff_limit) == ("Replica", 20)
    assert JOB.kind.clean_pod_policy == "Running"
