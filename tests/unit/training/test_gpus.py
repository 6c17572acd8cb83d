"""GPUs in the status of a job."""

import pytest

from kubedl.training.gpus import wanted_gpus
from tests.training_builders import decide, torch_job


def _template(*limits: object) -> dict[str, object]:
    return {"spec": {"containers": [{"name": "pytorch", "resources": {"limits": one}} for one in limits]}}


@pytest.mark.parametrize(
    ("template", "gpus"),
    [
        (_template({"nvidia.com/gpu": "8"}), 24),
        (_template({"nvidia.com/gpu": 1}, {"amd.com/gpu": 1}), 6),
        (_template({"cpu": "8", "nvidia.com/gpu.memory": "1Gi"}), None),
        (_template(None), None),
        (_template({"nvidia.com/gpu": "many"}), None),
        (_template({"nvidia.com/gpu": {}}), None),
        ({"spec": {"containers": "/gpu"}}, None),
    ],
)
def test_all_replicas_count(template: dict[str, object], gpus: int | None) -> None:
    """What cannot be read is rejected elsewhere, with its reason."""
    job = torch_job().master(template=template).workers(2, template=template)
    assert wanted_gpus(job.kind.job(job.build())) == gpus


def test_a_job_without_gpus_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reconcile of a job that uses none costs what it did before."""
    job = torch_job().master()
    monkeypatch.setattr("kubedl.training.gpus._TEMPLATE", None)
    assert wanted_gpus(job.kind.job(job.build())) is None


def test_the_status_has_them() -> None:
    status = decide(torch_job().master(template=_template({"nvidia.com/gpu": "8"}))).status
    assert status is not None
    assert status.gpus == 8
