"""`kubedl submit --check`: whether a job would start, without creating it."""

import json
from typing import Any

import pytest

from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import ApiServer

GPU = "nvidia.com/gpu"
BASE = ("submit", "pytorch", "--name", "bert", "--image", "i", "--check")
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"


def node(api: ApiServer, name: str, gpus: int = 8, **spec: Any) -> ApiServer:  # noqa: ANN401 - fields of a node
    room = {"cpu": "16", "memory": "64Gi", "pods": "110"} | ({GPU: str(gpus)} if gpus else {})
    labels = {"pool": name.partition("-")[0]}
    ready = [{"type": "Ready", "status": spec.pop("ready", "True")}]
    api.put(f"/api/v1/nodes/{name}", {"metadata": {"labels": labels}, "spec": spec, "status": {"allocatable": room}})
    api.objects[f"/api/v1/nodes/{name}"]["status"]["conditions"] = ready
    return api


def busy(api: ApiServer, name: str, gpus: int, node: str) -> ApiServer:
    container = {"name": "c", "resources": {"limits": {GPU: str(gpus)}}}
    spec = {"nodeName": node, "containers": [container]}
    owner = [{"kind": "PyTorchJob", "name": name}]
    api.put(f"/api/v1/namespaces/team/pods/{name}-0", {"metadata": {"ownerReferences": owner}, "spec": spec})
    return api


def queue(api: ApiServer, used: int, **spec: Any) -> ApiServer:  # noqa: ANN401 - fields of a ClusterQueue
    flavors = [{"name": "f", "resources": [{"name": GPU, "nominalQuota": "8"}]}]
    reserved = [{"name": "f", "resources": [{"name": GPU, "total": str(used)}]}]
    shared = {"spec": {"resourceGroups": [{"flavors": flavors}], **spec}, "status": {"flavorsReservation": reserved}}
    api.put(f"{KUEUE}/clusterqueues/all", shared)
    api.put(f"{KUEUE}/namespaces/team/localqueues/team-a", {"spec": {"clusterQueue": "all"}})
    return api


def quota(api: ApiServer, hard: str, used: str) -> ApiServer:
    status = {"hard": {f"requests.{GPU}": hard}, "used": {f"requests.{GPU}": used}}
    api.put("/api/v1/namespaces/team/resourcequotas/limit", {"spec": {}, "status": status})
    return api


# What the cluster is like, the flags, the exit code, and the answer.
CASES: dict[str, tuple[Any, tuple[str, ...], int, str]] = {
    "room": (lambda api: node(api, "gpu-1"), ("--gpus", "8"), 0, "yes: 1 pod fits now, on gpu-1"),
    "two nodes": (
        lambda api: (node(api, "gpu-1"), node(api, "gpu-2")),
        ("--gpus", "8", "--workers", "2"),
        0,
        "yes: 2 pods fit now, on gpu-1, gpu-2",
    ),
    "in use": (
        lambda api: (node(api, "gpu-1"), busy(api, "clip", 6, "gpu-1")),
        ("--gpus", "8"),
        3,
        "wait: No node has 8 GPUs free: the largest free block is 2 (on gpu-1).",
    ),
    "half fits": (
        lambda api: (node(api, "gpu-1"), node(api, "gpu-2"), busy(api, "clip", 6, "gpu-1")),
        ("--gpus", "8", "--workers", "2"),
        3,
        "wait: No node has 8 GPUs free: the largest free block is 2 (on gpu-1).",
    ),
    "too large": (
        lambda api: node(api, "gpu-1"),
        ("--gpus", "16"),
        1,
        "no: Can never fit: 16 GPUs on one node, the largest has 8.\n  largest  gpu-1\n  next     --gpus 8 --workers 2",
    ),
    "too many": (
        lambda api: node(api, "gpu-1"),
        ("--gpus", "8", "--workers", "3"),
        1,
        "no: Can never fit: 3 pods want 24 GPUs, and all nodes together have room for 1 of them.",
    ),
    "no GPUs": (lambda api: node(api, "cpu-1", 0), ("--gpus", "1"), 1, "no: No node has 1 GPU free."),
    "label": (lambda api: node(api, "gpu-1"), ("--selector", "pool=tpu"), 1, "no: No node has the label pool=tpu."),
    "taint": (
        lambda api: node(api, "gpu-1", taints=[{"key": "team", "value": "b", "effect": "NoSchedule"}]),
        (),
        1,
        "no: 1 node would do, but team=b:NoSchedule keeps the pods away.",
    ),
    "tolerated": (
        lambda api: node(api, "gpu-1", taints=[{"key": "team", "value": "b", "effect": "NoSchedule"}]),
        ("--toleration", "team=b:NoSchedule"),
        0,
        "yes: 1 pod fits now, on gpu-1",
    ),
    "cordoned": (
        lambda api: node(api, "gpu-1", unschedulable=True),
        (),
        3,
        "wait: 1 node that would fit is cordoned or not ready.",
    ),
    "no queue": (lambda api: queue(api, 0), ("--queue", "b"), 1, "no: Queue b does not exist in team.\n"),
    "no Kueue": (
        lambda api: node(api, "gpu-1"),
        ("--queue", "b"),
        1,
        "no: The job asks for queue b, and Kueue is not installed.",
    ),
    "quota in use": (
        lambda api: queue(api, 6),
        ("--queue", "team-a", "--gpus", "4"),
        3,
        "wait: 4 GPUs are wanted, and 2 of the 8 of queue team-a are free.",
    ),
    "beyond quota": (
        lambda api: queue(api, 0),
        ("--queue", "team-a", "--gpus", "9"),
        1,
        "no: Can never start: 9 GPUs are wanted, queue team-a has 8.",
    ),
    "stopped queue": (
        lambda api: queue(api, 0, stopPolicy="Hold"),
        ("--queue", "team-a"),
        3,
        "wait: Queue team-a is stopped: nothing in it starts.",
    ),
    "quota and room": (
        lambda api: (queue(api, 0), node(api, "gpu-1")),
        ("--queue", "team-a", "--gpus", "8"),
        0,
        "yes: 1 pod fits now, on gpu-1",
    ),
    "namespace in use": (
        lambda api: (node(api, "gpu-1"), quota(api, "8", "6")),
        ("--gpus", "4"),
        3,
        "wait: 4 GPUs are wanted, and 2 of the 8 of quota limit are free.",
    ),
    "beyond namespace": (
        lambda api: (node(api, "gpu-1"), quota(api, "2", "0")),
        ("--gpus", "4"),
        1,
        "no: Can never start: 4 GPUs are wanted, quota limit has 2.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_whether_it_would_start(run: Run, api: ApiServer, case: str) -> None:
    prepare, flags, code, said = CASES[case]
    prepare(api)
    answer = run(*BASE, *flags)
    assert answer.out.startswith(said), answer
    assert (answer.code, answer.err) == (code, "")
    assert not any("pytorchjobs" in path for path in api.objects)


def test_what_may_not_be_read_is_named(run: Run, api: ApiServer) -> None:
    node(api, "gpu-1")
    api.refusals["GET /api/v1/pods"] = (403, {"reason": "Forbidden", "message": "no pods for you"})
    answer = run(*BASE)
    assert answer.code == 3
    assert answer.out == (
        "unknown: an empty cluster has room; what others use cannot be read\n"
        "  node_pods  not allowed (no pods for you)\n"
    )
    api.refusals["GET /api/v1/nodes"] = (403, {"reason": "Forbidden", "message": "no nodes for you"})
    assert run(*BASE).out.startswith("unknown: nodes cannot be read, so fit is not checked\n  nodes  not allowed (no n")


def test_the_server_checks_first(run: Run, api: ApiServer) -> None:
    api.job("bert", status={"state": "Running"})
    answer = run(*BASE)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith("error: bert is taken: PyTorchJob in team, Running\n")


def test_for_programs(run: Run, api: ApiServer) -> None:
    node(api, "gpu-1")
    found = json.loads(run(*BASE, "-o", "json").out)
    assert (found["kind"], found["answer"], found["nodes"]) == ("FitCheck", "yes", ["gpu-1"])


@pytest.mark.parametrize("flag", ["--wait", "--dry-run=server"])
def test_nothing_to_wait_for(run: Run, api: ApiServer, flag: str) -> None:
    assert run(*BASE, flag).code == 2
    assert not api.calls
