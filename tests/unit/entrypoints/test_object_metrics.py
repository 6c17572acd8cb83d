"""Objects are counted by kind and state, and the number of series is the same in every cluster."""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from prometheus_client import CollectorRegistry

from kubedl.api.conditions import Condition
from kubedl.entrypoints.object_metrics import ObjectMetrics


def job(state: str | None) -> Any:  # noqa: ANN401  as much of one as is looked at
    return SimpleNamespace(status=SimpleNamespace(state=state))


def counted(
    jobs: dict[str, list[Any]], versions: Iterable[Any] = (), inferences: Iterable[Any] = ()
) -> dict[str, float]:
    """Samples that are not 0."""
    registry = CollectorRegistry()
    registry.register(ObjectMetrics(jobs, versions, inferences))
    samples = [sample for metric in registry.collect() for sample in metric.samples]
    return {" ".join([one.name, *one.labels.values()]): one.value for one in samples if one.value}


def test_jobs_are_counted_by_kind_and_state() -> None:
    """One that nobody has looked at is new."""
    jobs = {"TFJob": [job("Running"), job("Running"), job(None)], "JAXJob": [job("Failed")]}
    assert counted(jobs) == {
        "kubedl_jobs TFJob Running": 2,
        "kubedl_jobs TFJob New": 1,
        "kubedl_jobs JAXJob Failed": 1,
    }


def test_versions_and_inferences_are_counted() -> None:
    versions = [SimpleNamespace(status=SimpleNamespace(image_build_phase=phase)) for phase in ("ImageBuilding", None)]
    ready = [(Condition("Ready", "True"),), (Condition("Ready", "False"),), ()]
    inferences = [SimpleNamespace(status=SimpleNamespace(conditions=one)) for one in ready]
    assert counted({}, versions, inferences) == {
        "kubedl_model_versions ImageBuilding": 1,
        "kubedl_model_versions New": 1,
        "kubedl_inferences true": 1,
        "kubedl_inferences false": 2,
    }


def test_every_state_has_a_series_from_the_start() -> None:
    registry = CollectorRegistry()
    registry.register(ObjectMetrics({"TFJob": []}, [], []))
    assert sum(len(metric.samples) for metric in registry.collect()) == 8 + 4 + 2
