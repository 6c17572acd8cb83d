"""`kubedl top`: what pods have reserved."""

import json

from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import ApiServer


def test_sidecars_and_overhead_are_reserved_too(run: Run, api: ApiServer) -> None:
    """As the scheduler counts it, and `kubectl describe node` shows it."""

    def asks(cpu: str, **fields: str) -> dict[str, object]:
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **fields}

    api.put("/api/v1/nodes/gpu-1", {"spec": {}, "status": {"allocatable": {"cpu": "4"}}})
    spec = {"nodeName": "gpu-1", "containers": [asks("1")], "initContainers": [asks("500m", restartPolicy="Always")]}
    api.put("/api/v1/namespaces/team/pods/x", {"spec": {**spec, "overhead": {"cpu": "250m"}}, "status": {}})
    (node,) = json.loads(run("top", "node", "-o", "json").out)["items"]
    assert node["reserved"] == {"cpu": 1.75}


def test_a_job_of_another_kind_has_pods_of_its_own(run: Run, api: ApiServer) -> None:
    """It may have the same name."""
    api.job("x")
    api.job("x", "tfjobs", metadata={"uid": "other"})
    api.pod("x", "worker", 0)
    path = api.pod("x", "ps", 0)
    api.objects[path]["metadata"]["labels"]["training.kubedl.io/job-uid"] = "other"
    for kind, replica in (("pytorch", "worker-0"), ("tf", "ps-0")):
        found = json.loads(run("top", "job", f"{kind}/x", "-o", "json").out)
        assert [one["name"] for one in found["items"]] == [replica]
