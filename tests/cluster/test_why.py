"""`kubedl why` on a real control plane, and the failure that outlives its pod. The proof has all the causes."""

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.drivers import command_line
from harness.drivers.api_connection import Connection, unless_gone
from harness.drivers.operator_process import Operator
from harness.fakes.node import played_node
from harness.scenarios.why_causes import SITUATIONS
from harness.scenarios.why_objects import World
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.cluster.slot_jobs import NODES

CHOSEN = ("held.by-person", "refused.name", "fit.too-large", "fit.taint", "image.not-found", "run.oom", "serve.version")
Why = Callable[[str], dict[str, Any]]
Kubedl = Callable[..., str]


@pytest.fixture
def world(control_plane: Cluster, namespace: str) -> Iterator[World]:
    """A namespace with an operator, simulated nodes, and a node without kubelet."""
    control_plane.up(kwok=NODES, keep=False)
    with (
        Connection(control_plane) as connection,
        played_node(connection) as mute,
        Operator(control_plane, arguments=("--namespace", namespace)),
    ):
        yield World(connection, namespace, {}, mute)


@pytest.fixture
def kubedl(control_plane: Cluster, namespace: str, tmp_path: Path) -> Kubedl:
    """Runs the command line, and returns what it printed."""

    def run(*words: str) -> str:
        done = command_line.kubedl(control_plane, namespace, tmp_path, *words)
        assert done.returncode in (0, 3), done.stderr
        return done.stdout

    return run


@pytest.fixture
def why(kubedl: Kubedl) -> Why:
    """Runs `kubedl why NAME -o json`."""

    def run(name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(kubedl("why", name, "-o", "json"))
        return found

    return run


def _status(world: World, kind: str, group: str, name: str) -> dict[str, Any]:
    found = world.connection.get(f"/apis/{group}/namespaces/{world.namespace}/{kind}/{name}")
    status: dict[str, Any] = found.get("status") or {}
    return status


def test_the_cause_is_named(world: World, why: Why) -> None:
    chosen = [one for one in SITUATIONS if one.rule in CHOSEN]
    assert len(chosen) == len(CHOSEN)
    for one in chosen:
        one.make(world)
    for one in chosen:
        until(
            f"{one.object} to show {one.sign}",
            lambda one=one: one.sign in json.dumps(_status(world, one.kind, one.group, one.object)),  # type: ignore[misc]
            deadline=120,
        )
        found = why(one.object)
        assert found["rule"] == one.rule, found


def test_what_it_proposes_helps(world: World, why: Why, kubedl: Kubedl) -> None:
    """The command is run as it is printed."""
    world.job("bert", spec={"suspend": True})
    until("it to be suspended", lambda: _job(world).get("state") == "Suspended", deadline=60)
    program, *words = shlex.split(why("bert")["tries"][0]["command"])
    assert program == "kubedl"
    kubedl(*words)
    until("it to run", lambda: _job(world).get("state") == "Running", deadline=60)
    assert why("bert")["first"].startswith("Nothing holds it up: 1 of 1 replicas have run for ")


def _job(world: World) -> dict[str, Any]:
    return _status(world, "pytorchjobs", "training.kubedl.io/v1alpha1", "bert")


def test_the_last_failure_outlives_its_pod(world: World, why: Why) -> None:
    """The pod is replaced, and the status still says how the first one ended."""
    world.ends("bert", 137, "OOMKilled", "step 12\n", policy="OnFailure")

    def replaced() -> bool:
        with unless_gone():  # as it is for a moment
            pod = world.connection.get(world.pod("bert-master-0"))
            return bool(pod["metadata"]["labels"].get("training.kubedl.io/attempt") == "1")
        return False

    until("the pod to be replaced", replaced, deadline=120)
    failure = _job(world)["lastFailure"]
    assert failure.pop("time")
    assert failure == {
        "role": "Master",
        "index": 0,
        "pod": "bert-master-0",
        "node": world.mute,
        "container": "pytorch",
        "exitCode": 137,
        "signal": "SIGKILL",
        "reason": "OOMKilled",
        "message": "step 12",
    }
    assert why("bert")["first"].startswith("Restarting: master 0 ran out of memory")
