"""The page of metrics has every metric that the operator declares."""

import re
from pathlib import Path

from devtools.metrics import describe_metrics, found

SOURCE = Path(__file__).parents[3] / "src/kubedl"


def test_every_metric_of_the_code_is_on_the_page() -> None:
    """Found by its declaration, wherever it is."""
    runtime = (SOURCE / "runtime/metrics.py").read_text()
    declared = {f"kubedl_{name}" for name in re.findall(r'self\._(?:counter|gauge|histogram)\(\s*"(\w+)"', runtime)}
    declared |= set(re.findall(r'MetricFamily\("(\w+)"', (SOURCE / "entrypoints/object_metrics.py").read_text()))
    declared |= set(re.findall(r'"(kubedl_jobs_\w+)"', (SOURCE / "training/job_metrics.py").read_text()))
    for file in ("history/recorder_metrics.py", "history/logs/log_metrics.py"):
        declared |= set(re.findall(r'"(kubedl_recorder_\w+)"', (SOURCE / file).read_text()))
    declared |= {"kubedl_leader", "kubedl_recorder_leader"}  # named by a parameter
    assert {name.removesuffix("_total") for name, *_ in found()} == declared
    assert [name for name in declared if f"`{name}" not in describe_metrics()] == []


def test_labels_are_known_without_a_cluster() -> None:
    labels = {name: labels for name, _, labels, _ in found()}
    assert labels["kubedl_api_calls_total"] == ("verb", "resource", "outcome")
    assert labels["kubedl_jobs"] == ("kind", "state")
    assert labels["kubedl_leader"] == ()
