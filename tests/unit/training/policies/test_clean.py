"""cleanPodPolicy."""

import pytest

from kubedl.training.policies.clean import goes
from tests.training_builders import pod, tf_job

JOB = tf_job().workers(1)
PODS = {
    "pending": pod(JOB, "Worker"),
    "running": pod(JOB, "Worker").running(),
    "succeeded": pod(JOB, "Worker").succeeded(),
    "failed": pod(JOB, "Worker").failed(1),
}


@pytest.mark.parametrize(
    ("policy", "going"),
    [("None", set()), ("Running", {"pending", "running"}), ("All", {"pending", "running", "succeeded", "failed"})],
)
def test_which_pods_go(policy: str, going: set[str]) -> None:
    """Running holds machines, so one that waits for a machine goes too."""
    assert going == {name for name, made in PODS.items() if goes(made.build(), policy)}  # type: ignore[arg-type]
