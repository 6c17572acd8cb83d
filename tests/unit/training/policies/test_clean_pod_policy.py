"""cleanPodPolicy."""

import pytest

from kubedl.api.training import CleanPodPolicy
from kubedl.training.policies.clean_pod_policy import is_cleaned
from tests.training_builders import pod, tf_job

JOB = tf_job().workers(1)
PODS = {
    "pending": pod(JOB, "Worker"),
    "running": pod(JOB, "Worker").running(),
    "succeeded": pod(JOB, "Worker").succeeded(),
    "failed": pod(JOB, "Worker").failed(1),
}


@pytest.mark.parametrize(
    ("policy", "failed", "going"),
    [
        ("None", False, set()),
        ("None", True, {"pending", "running"}),
        ("Running", False, {"pending", "running"}),
        ("Running", True, {"pending", "running"}),
        ("All", False, {"pending", "running", "succeeded", "failed"}),
        ("All", True, {"pending", "running", "succeeded", "failed"}),
    ],
)
def test_which_pods_go(policy: CleanPodPolicy, failed: bool, going: set[str]) -> None:
    """Running holds machines, so one that waits for a machine goes too. None keeps logs."""
    assert going == {name for name, made in PODS.items() if is_cleaned(made.build(), policy, failed=failed)}
