"""What pods ask for, in evidence that may have parts missing."""

from kubedl.why.collecting import holder
from kubedl.why.quantities import requests_of


def test_requests_count_as_the_scheduler_counts_them() -> None:
    """A sidecar runs beside the containers; an init container before them; what is no quantity counts as nothing."""
    pod = {
        "spec": {
            "containers": [{"resources": {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": 2}}}, {}],
            "initContainers": [
                {"restartPolicy": "Always", "resources": {"requests": {"cpu": "500m"}}},
                {"resources": {"requests": {"cpu": "1", "memory": "nonsense"}}},
            ],
            "overhead": {"cpu": "250m"},
        }
    }
    assert requests_of(pod) == {"cpu": 1.75, "nvidia.com/gpu": 2, "memory": 0}
    assert requests_of(holder(pod)) == requests_of(pod)
