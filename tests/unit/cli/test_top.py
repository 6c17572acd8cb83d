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
