"""The page about the operator's metrics, from the metrics themselves."""

from datetime import UTC, datetime

from prometheus_client import Metric

from devtools.tables import table
from kubedl.entrypoints.object_metrics import ObjectMetrics
from kubedl.history.logs.log_metrics import LogMetrics
from kubedl.history.observation import Closing
from kubedl.history.recorder_metrics import RecorderMetrics
from kubedl.runtime.metrics import Metrics
from kubedl.training.job_metrics import JobMetrics


def describe_metrics() -> str:
    """The reference page."""
    own = [
        (f"`{name}`", kind, ", ".join(f"`{label}`" for label in labels), text) for name, kind, labels, text in found()
    ]
    process = [f"`{metric.name}`" for metric in _metrics() if metric.name.startswith("process_")]
    return (
        "# Metrics of the operator\n\n"
        "Served at `/metrics`, beside `/healthz` and `/readyz`. Labels take only values that the code knows (verbs, "
        "resources, status codes, kinds, states), never names of objects: the number of series does not grow with the "
        "cluster. `kubedl_recorder_*` are those of the recorder (`kubedl recorder`), which also has those about API "
        "calls, and `kubedl_recorder_logs_*` if it archives logs. A standby shows the same objects as the leader, so "
        "take `max` over pods where you count them.\n\n"
        f"{table(('metric', 'type', 'labels', 'what it says'), own)}\n"
        f"And of every process, as the Prometheus client has them: {', '.join(process)}.\n"
    )


def found() -> list[tuple[str, str, tuple[str, ...], str]]:
    """Name as it is asked for, type, labels and text of each."""
    return sorted(
        (_asked(metric), metric.type, _labels(metric), f"{metric.documentation}.")
        for metric in _metrics()
        if metric.name.startswith("kubedl_")
    )


def _metrics() -> list[Metric]:
    metrics = Metrics()
    metrics.registry.register(ObjectMetrics({"PyTorchJob": []}, [], []))
    JobMetrics(["PyTorchJob"], metrics.registry)
    _count_something(RecorderMetrics(metrics.registry))
    LogMetrics(metrics.registry)
    # A metric with labels has a sample only when somebody has counted.
    metrics.observe_request("get", "pods", "200", 0.1)
    metrics.reconciled("PyTorchJob", 0.1, error=True)
    metrics.event_dropped()
    metrics.leading(True)
    metrics.add_queue("PyTorchJob", lambda: 0)
    metrics.add_cache("pods", lambda: 0, lambda: 0)
    recorder = Metrics(leader="recorder_leader").registry.collect()
    return [*metrics.registry.collect(), *(metric for metric in recorder if metric.name == "kubedl_recorder_leader")]


def _count_something(recorder: RecorderMetrics) -> None:
    recorder.watch("database", lambda: 0, lambda: 0)
    recorder.written("database", [Closing("jobs", "", datetime.now(UTC), datetime.now(UTC))], 0)


def _asked(metric: Metric) -> str:
    return f"{metric.name}_total" if metric.type == "counter" else metric.name


def _labels(metric: Metric) -> tuple[str, ...]:
    names = {label: None for sample in metric.samples for label in sample.labels if label != "le"}
    return tuple(names)
