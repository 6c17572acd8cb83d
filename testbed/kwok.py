"""Simulated nodes: kwok plays the kubelet, so thousands of pods cost no container.

They are tainted: a pod that must really run never lands on one by accident, whatever nodes come later.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from testbed import dns_and_registry, processes, tools
from testbed.api import Api, Object, is_true
from testbed.controlplane import NODE_GRACE
from testbed.dns_and_registry import rule
from testbed.instance import Instance
from testbed.pki import Authority
from testbed.waiting import until

LABEL = "type"
KIND = "kwok"
SELECTOR = f"{LABEL}%3D{KIND}"
ENDS_AFTER = "testbed.kubedl.io/ends-after"  # annotation of a pod: "2s"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
# By default kwok brings four pods to life at a time, which on a busy machine is ten a second.
OPTIONS = {
    "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
    "kind": "KwokConfiguration",
    "options": {"podPlayStageParallelism": 32, "nodePlayStageParallelism": 16, "nodeLeaseParallelism": 16},
}


def allow(api: Api) -> None:
    """kwok's rights: nodes, pods and leases only."""
    dns_and_registry.define_role(
        api,
        "testbed:kwok",
        [
            rule("", ["nodes"], ["get", "list", "watch"]),
            rule("", ["pods"], ["get", "list", "watch", "patch", "update", "delete"]),
            rule("", ["nodes/status", "pods/status"], ["patch", "update"]),
            rule("", ["events"], ["create", "patch", "update"]),
            rule("coordination.k8s.io", ["leases"], ["get", "list", "watch", "create", "patch", "update"]),
        ],
    )


def start(instance: Instance, authority: Authority, api: Api, program: Path) -> None:
    """The kwok controller."""
    _release_nodes(api)
    settings = instance.state / "kwok.yaml"
    settings.write_text("\n---\n".join([json.dumps(OPTIONS), *_stages()]))
    command = [
        str(program),
        f"--kubeconfig={authority.kubeconfig('kwok')}",
        f"--config={settings}",
        "--manage-all-nodes=false",
        f"--manage-nodes-with-label-selector={LABEL}={KIND}",
        # kwok renews at a quarter of the duration: two renewals within the controller-manager's grace.
        f"--node-lease-duration-seconds={2 * NODE_GRACE}",
        f"--server-address=127.0.0.1:{instance.loopback_port(4)}",
    ]
    processes.start(instance.index, "kwok", command, instance.state / "log" / "kwok.log")


def create_nodes(api: Api, first: int, last: int) -> None:
    """Simulated nodes `kwok-first` to `kwok-last`, Ready on return."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: api.create("/api/v1/nodes", _node(n)), range(first, last + 1)))
    until(f"{last} simulated nodes to be ready", lambda: _ready(api) >= last, deadline=60 + last / 20)


def _release_nodes(api: Api) -> None:
    """A kwok that was killed keeps its leases, and its successor, a stranger to them, has been seen to wait minutes."""
    for node in api.list(f"/api/v1/nodes?labelSelector={SELECTOR}"):
        api.delete(f"{LEASES}/{node['metadata']['name']}")


def _stages() -> list[str]:
    """kwok's own: nodes that stay alive by their lease; pods that run until they are deleted, or as long as they say.

    Its own stage ends the pods of every Job at once, and no others.
    """
    directory = tools.module_files("kwok", "stages")
    chosen = ("node/fast", "node/heartbeat-with-lease", "pod/fast")
    files = [file for stage in chosen for file in sorted((directory / stage).glob("*-*.yaml"))]
    return [_ending(file.read_text()) if file.stem == "pod-complete" else file.read_text() for file in files]


def _ending(stage: str) -> str:
    """kwok's stage of pods that end well, for pods with the annotation."""
    made: Object = yaml.safe_load(stage)
    says = f'.metadata.annotations["{ENDS_AFTER}"]'
    kept = [one for one in made["spec"]["selector"]["matchExpressions"] if "ownerReferences" not in one["key"]]
    made["spec"]["selector"]["matchExpressions"] = [*kept, {"key": says, "operator": "Exists"}]
    made["spec"]["delay"] = {"durationFrom": {"expressionFrom": says}}
    return json.dumps(made)  # JSON is YAML


def _ready(api: Api) -> int:
    nodes = api.list(f"/api/v1/nodes?labelSelector={SELECTOR}")
    return sum(is_true(node, "Ready") for node in nodes)


def _node(number: int) -> Object:
    name = f"kwok-{number}"
    capacity = {"cpu": "64", "memory": "512Gi", "pods": "1100", "nvidia.com/gpu": "8"}
    return {
        "metadata": {
            "name": name,
            "labels": {LABEL: KIND, "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {"taints": [{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}]},
        "status": {"capacity": capacity, "allocatable": capacity},
    }
