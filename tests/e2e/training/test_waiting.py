"""Fourteen jobs that cannot run: each says why within seconds, in the original words, and runs when it can."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from harness.drivers.environment import FULL
from harness.drivers.operator_process import Operator
from testbed import namespaces
from testbed.api import Object
from testbed.cluster import Cluster
from testbed.waiting import until, working_seconds
from tests.e2e.training.jobs import API_VERSION
from tests.e2e.training.reasons import REASONS, Ground, body, clean

# Seconds within which a job must say why it waits. In CI kubelets are late with what they say, and the leader may have
# just ended with the other test process: its Lease of 90 seconds may have to run out.
TOLD = 15.0 if FULL else 150.0
# Seconds within which it runs when it can: a kubelet pauses for longer and longer, up to five minutes.
RUNS = 75.0 if FULL else 400.0
# In CI seconds that the machine's host gave to others count for nobody.
now = time.monotonic if FULL else working_seconds


@pytest.fixture
def ground(cluster: Cluster, base_image: str, operator: Operator) -> Iterator[Ground]:
    """Namespaces, and nodes as they were before."""
    operator.insist()
    restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
    with ExitStack() as stack:
        names = [
            stack.enter_context(namespaces.fresh(cluster.api, "waiting", labels)) for labels in ({}, restricted, {}, {})
        ]
        made = Ground(cluster, base_image, *names)
        stack.callback(clean, made)
        yield made


@pytest.mark.disruptive
def test_a_job_says_why_it_does_not_run(ground: Ground, record_property: Callable[[str, object], None]) -> None:
    """All at once. Then every cause is removed, and the jobs run and say so."""
    for reason in REASONS.values():
        reason.prepare(ground)
    created = {}
    for name in REASONS:
        created[name] = now()
        submit(ground, name)
    told: dict[str, float] = {}

    def look() -> bool:
        for name in REASONS.keys() - told.keys():
            if says(ground, name):
                told[name] = now() - created[name]
        return len(told) == len(REASONS)

    try:
        until("every job to say why it waits", look, deadline=TOLD + 15)
    finally:
        silent = {name: status(ground, name) for name in sorted(REASONS.keys() - told.keys())}
        record_property("told", len(told))
        record_property("slowest", round(max(told.values(), default=0.0), 1))
        print({name: round(seconds, 1) for name, seconds in told.items()}, silent)
    assert {name: seconds for name, seconds in told.items() if seconds > TOLD} == {}
    table = ground.cluster.kubectl("get", "tfjobs", "-A")
    for name, reason in REASONS.items():
        assert all(word in row(table, name) for word in reason.words), table
    for reason in REASONS.values():
        reason.remove(ground)
    waiting = set(REASONS)
    try:
        until("every job to run", lambda: not still(ground, waiting), deadline=RUNS)
    finally:
        record_property("ran", len(REASONS) - len(waiting))
        print({name: status(ground, name) for name in sorted(waiting)})
    table = ground.cluster.kubectl("get", "tfjobs", "-A")
    for name, reason in REASONS.items():
        assert not any(word in row(table, name) for word in reason.words), table


def row(table: str, name: str) -> str:
    """The job's in what `kubectl get` prints, without its namespace, whose number may be the code of an error."""
    rows = [line.partition(" ")[2].lstrip() for line in table.splitlines()]
    [found] = [line for line in rows if line.startswith(f"{name} ")]
    return found


def submit(ground: Ground, name: str) -> None:
    """Create the job."""
    made = body(name, REASONS[name], ground)
    for role in made["spec"]["tfReplicaSpecs"].values():
        selector = role["template"]["spec"].get("nodeSelector", {})
        if "waiting" in selector:
            role["template"]["spec"]["nodeSelector"] = {"waiting": ground.open}
    ground.create(f"/apis/{API_VERSION}/namespaces/{REASONS[name].namespace(ground)}/tfjobs", made)


def status(ground: Ground, name: str) -> Object:
    """Of the job."""
    path = f"/apis/{API_VERSION}/namespaces/{REASONS[name].namespace(ground)}/tfjobs/{name}"
    found: Object = ground.cluster.api.get(path).get("status", {})
    return found


def condition(ground: Ground, name: str) -> Object:
    """PodsReady of the job."""
    said: list[Object] = status(ground, name).get("conditions", [])
    return next((one for one in said if one["type"] == "PodsReady"), {"status": "?", "message": "", "reason": ""})


def says(ground: Ground, name: str) -> bool:
    """Whether the condition and the column REASON name the cause."""
    said, column = condition(ground, name), status(ground, name).get("message", "")
    text = f"{said['reason']}: {said['message']}"
    return said["status"] == "False" and all(word in text and word in column for word in REASONS[name].words)


def still(ground: Ground, waiting: set[str]) -> set[str]:
    """Those that wait; whoever runs and says so leaves the set."""
    for name in list(waiting):
        said = status(ground, name)
        states = {one["type"]: one["status"] for one in said.get("conditions", [])}
        if states.get("Running") == states.get("PodsReady") == "True" and not said.get("message"):
            waiting.discard(name)
    return waiting
