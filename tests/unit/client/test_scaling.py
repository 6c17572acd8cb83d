"""Which jobs the client resizes as they are, and which it suspends for it."""

import pytest

from kubedl.client.job import Job
from kubedl.client.scaling import is_in_place


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, False),
        ({"elastic": {"maxReplicas": 4}}, True),
        ({"elasticPolicy": {"maxReplicas": 4}}, True),
        ({"elasticPolicy": {"minReplicas": 1}}, True),
        ({"elasticPolicy": {}}, False),
        ({"elasticPolicy": {"rdzvBackend": "c10d"}}, False),
        ({"suspend": True}, True),
    ],
)
def test_an_elastic_job_is_not_suspended_to_be_resized(spec: dict[str, object], expected: bool) -> None:
    """Kubeflow's elasticPolicy without bounds fixes the size."""
    roles = {"Worker": {"replicas": 2, "template": {}}}
    job = Job.of({"kind": "PyTorchJob", "metadata": {"name": "a"}, "spec": {"pytorchReplicaSpecs": roles, **spec}})
    assert is_in_place(job) is expected
