"""F14: whatever the API server accepts as a job, the operator lives, and the neighbours do not notice."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.drivers.api_connection import Connection
from harness.drivers.environment import Stage, times
from harness.drivers.proxied_operator import ProxiedOperator
from harness.scenarios.driver import job_body
from harness.scenarios.many_jobs import Fleet
from testbed.api import ApiError, Object

ACCEPTED = times(60, 1000)
SEED = 20260101
NEIGHBOURS = 5
ROLES = "tfReplicaSpecs"
POISON = "test.kubedl.io/poison"  # for a build that has been taught to stumble over it


@pytest.fixture
def fleet(fleet: Fleet) -> Iterator[Fleet]:
    """Jobs that can be deleted afterwards: one that cannot keeps its definition from ever going too."""
    yield fleet
    held = [name for name, job in fleet.jobs().items() if job["metadata"].get("finalizers")]
    fleet.change(held, {"metadata": {"finalizers": None}})


def test_poison_hurts_nobody_else(
    ready_stage: Stage, fleet: Fleet, operator: ProxiedOperator, record_property: Callable[[str, object], None]
) -> None:
    """Odd jobs are added until enough were accepted; ordinary ones among them run to their end."""
    server, dice = ready_stage.watcher.connection, random.Random(SEED)  # noqa: S311 - the same each time
    neighbours = [f"neighbour-{number}" for number in range(NEIGHBOURS)]
    fleet.create(neighbours[:2], {"Worker": 2})
    accepted = refused = 0
    while accepted < ACCEPTED:
        batch = [_odd_job(dice, ready_stage.node, f"odd-{accepted + refused + n}") for n in range(20)]
        took = sum(server.run(_try(server, fleet.jobs_path, body)) for body in batch)
        accepted, refused = accepted + took, refused + len(batch) - took
    record_property("repetitions", accepted)
    record_property("refused", refused)
    fleet.create(neighbours[2:], {"Worker": 2})
    wanted = {f"{name}-worker-{index}" for name in neighbours for index in range(2)}
    fleet.until("the neighbours' pods", lambda: wanted & set(fleet.pods()), wanted)
    fleet.run(wanted)
    fleet.end(sorted(wanted))
    fleet.until("the neighbours to succeed", lambda: _states(fleet, neighbours), ["Succeeded"] * NEIGHBOURS)
    operator.insist()
    assert "reconcile failed" not in operator.log_file.read_text() or POISON in operator.log_file.read_text()


def _odd_job(dice: random.Random, node: str, name: str) -> Object:
    body = copy.deepcopy(job_body("TFJob", name, {"Worker": 1, "PS": 1}, node))
    body["metadata"]["annotations"] = {POISON: name}
    for _ in range(dice.randint(1, 4)):
        dice.choice(_ODDITIES)(dice, body)
    return body


def _spec(dice: random.Random, body: Object) -> None:
    name, values = dice.choice(list(_FIELDS.items()))
    body["spec"][name] = dice.choice(values)


def _role(dice: random.Random, body: Object) -> None:
    name, values = dice.choice(list(_ROLE_FIELDS.items()))
    role = dice.choice(list(body["spec"][ROLES]))
    body["spec"][ROLES][role][name] = dice.choice(values)


def _pod(dice: random.Random, body: Object) -> None:
    role = dice.choice(list(body["spec"][ROLES]))
    template = body["spec"][ROLES][role].get("template") or {}
    if isinstance(template.get("spec"), dict):
        template["spec"][dice.choice(_POD_FIELDS)] = dice.choice(_VALUES)


def _container(dice: random.Random, body: Object) -> None:
    role = dice.choice(list(body["spec"][ROLES]))
    containers = ((body["spec"][ROLES][role].get("template") or {}).get("spec") or {}).get("containers")
    if isinstance(containers, list) and containers and isinstance(containers[0], dict):
        containers[0][dice.choice(_CONTAINER_FIELDS)] = dice.choice(_VALUES)


def _metadata(dice: random.Random, body: Object) -> None:
    body["metadata"]["annotations"] |= dice.choice(_ANNOTATIONS)
    if dice.random() < 0.3:
        body["metadata"]["finalizers"] = ["test.kubedl.io/never"]


_VALUES: list[Any] = [
    None, "", "a", 0, -1, 2**40, 1.5, True, [], {}, [None], [{}], ["a"], {"a": None}, [{"name": None}], [{"name": "x"}],
    [{"containerPort": "http"}], [{"name": "tfjob-port", "containerPort": "2222"}], {"searches": None},
    {"searches": "a"}, {"a": {"b": [1, {"c": None}]}}, "x" * 300, "ä\u0000\ud7ff",
]  # fmt: skip
_FIELDS: dict[str, list[Any]] = {
    "cleanPodPolicy": ["All", "None", None, "all"],
    "ttlSecondsAfterFinished": [0, 2**31 - 1, -1, None],
    "activeDeadlineSeconds": [1, 2**31 - 1, 0, None],
    "backoffLimit": [0, 2**31 - 1, -5, None],
    "suspend": [True, None, "yes"],
    "restartScope": ["Job", "Replica", "job", None],
    "successPolicy": ["AllWorkers", "", None],
    "schedulingPolicy": [{}, {"priorityClassName": "missing"}, {"queue": ""}, None],
    "modelVersion": [
        {},
        {"modelName": "m"},
        None,
        {"modelName": "m", "imageRepo": "r", "storage": {"nfs": {"server": "n"}}},
    ],
}
_ROLE_FIELDS: dict[str, list[Any]] = {
    "replicas": [0, 1, 3, -1, None, 10_001],
    "restartPolicy": ["Always", "OnFailure", "Never", "ExitCode", "Sometimes", None],
    "dependsOn": [[], None, [{"upstream": "PS", "phase": "Ready"}], [{"upstream": "Nobody"}], [{"upstream": "Worker"}]],
    "template": [{}, None, {"spec": {}}, {"spec": {"containers": []}}, {"metadata": {"labels": None}, "spec": None}],
}
_POD_FIELDS = [
    "dnsConfig", "hostname", "subdomain", "containers", "initContainers", "volumes", "nodeSelector", "tolerations",
    "serviceAccountName", "restartPolicy", "hostNetwork", "priorityClassName", "terminationGracePeriodSeconds",
]  # fmt: skip
_CONTAINER_FIELDS = ["env", "ports", "resources", "command", "image", "terminationMessagePolicy", "lifecycle"]
_ANNOTATIONS = [
    {"kubedl.io/network-mode": "host"}, {"kubedl.io/git-sync-config": "{"}, {"kubedl.io/tensorboard-config": ""},
    {"kubedl.io/enable-elastic-training": "true"}, {"a": "x" * 10_000},
]  # fmt: skip
_ODDITIES: list[Callable[[random.Random, Object], None]] = [_spec, _role, _pod, _pod, _container, _container, _metadata]


async def _try(server: Connection, path: str, body: Object) -> bool:
    try:
        await server.call("POST", path, body)
    except ApiError as error:
        if error.status not in {400, 409, 422}:
            raise
        return False
    return True


def _states(fleet: Fleet, names: list[str]) -> list[str | None]:
    statuses = fleet.statuses()
    return [statuses.get(name, {}).get("state") for name in names]
