"""Whether a job that does not exist yet would start."""

from typing import Any

import pytest

from kubedl.why import nodes
from kubedl.why.fitting import fits
from tests.unit.why.building import CPU_NODE, Case, job, node

GPU = "nvidia.com/gpu"


def test_nodes_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each node and pod: a cluster may have thousands."""
    read: list[object] = []

    def number(value: object) -> float:
        read.append(value)
        return 1000.0

    monkeypatch.setattr(nodes, "number", number)
    listed = [node(f"node-{number}") for number in range(20)]
    assert fits(Case("", job(""), {"nodes": listed, "node_pods": {}}).evidence()).answer == "yes"
    assert len(read) == len(listed) * len(CPU_NODE)


def test_smaller_workers_are_as_many_as_have_the_same_gpus() -> None:
    """Parameter servers have none, and --workers does not count them."""

    def role(replicas: int, **limits: str) -> dict[str, Any]:
        container = {"name": "tensorflow", "resources": {"limits": limits}}
        return {"replicas": replicas, "template": {"spec": {"containers": [container]}}}

    roles = {"PS": role(2, cpu="1"), "Worker": role(4, **{GPU: "16"})}
    manifest = {"kind": "TFJob", "metadata": {"name": "t", "namespace": "team"}, "spec": {"tfReplicaSpecs": roles}}
    parts = {"nodes": [node("gpu-1", allocatable=CPU_NODE | {GPU: "8"})], "node_pods": {}}
    found = fits(Case("", manifest, parts).evidence())
    assert (found.rule, found.next) == ("fit.too-large", "--gpus 8 --workers 8")
    roles["Chief"] = role(1, **{GPU: "16"})  # has a flag of its own
    assert fits(Case("", manifest, parts).evidence()).next == ""
