"""The reference page of the Python client, from its signatures and docstrings."""

import inspect
import re

from kubedl import client
from kubedl.client import (
    HistoryDatabase,
    Job,
    JobChange,
    JobSelection,
    JobSummary,
    KubedlError,
    LogLine,
    Logs,
    Model,
    ModelVersion,
    Predictor,
    Queue,
    QueuedJob,
    Replica,
    Rollout,
    Service,
    TrainingClient,
)
from kubedl.client.applying import Applied
from kubedl.client.crons import Crons
from kubedl.client.history_operations import History
from kubedl.client.job_follow import JobState
from kubedl.client.job_view import JobView
from kubedl.client.models import Models
from kubedl.client.objects import Objects
from kubedl.client.pruning import Prunable
from kubedl.client.queues import Queues
from kubedl.client.services import Services
from kubedl.history.queries.answers import EventRecord, JobDetail, JobPage, PodRecord, ReceiptRecord, StatisticsRow
from kubedl.history.queries.answers import JobSummary as RecordedJob
from kubedl.why.fitting import Fit

LONGEST = 100
HISTORY = (JobPage, RecordedJob, JobDetail, PodRecord, EventRecord, ReceiptRecord, StatisticsRow)
RECORDS = (
    JobSelection,
    JobChange,
    JobState,
    Applied,
    Prunable,
    Fit,
    Predictor,
    Rollout,
    HistoryDatabase,
    *HISTORY,
)  # told with their fields


def describe_client() -> str:
    """The page."""
    groups = (Models, Model, ModelVersion, Services, Service, Crons, Queues, Queue, QueuedJob, History, Objects)
    classes = (TrainingClient, Job, JobSummary, Replica, Logs, LogLine, JobView, *groups, *RECORDS)
    return (
        "# The Python client\n\n"
        "`from kubedl.client import TrainingClient`. [Train from Python](../how-to/train-from-python.md) shows how it "
        "is used. `AsyncTrainingClient` has the same operations with the same arguments, as coroutines; logs, "
        "`watch_jobs` and `follow_job` are taken with `async for`.\n"
        f"{''.join(_describe_class(one) for one in classes)}"
        f"{_describe_errors()}"
    )


def _describe_class(kind: type) -> str:
    title = f"{kind.__name__} (of the history)" if kind is RecordedJob else kind.__name__
    parts = [f"\n## {title}\n\n{_doc(kind)}\n"]
    properties = [
        f"| `{name}` | {_doc(value).partition(chr(10))[0]} |"
        for name, value in _members(kind).items()
        if isinstance(value, property)
    ]
    if properties:
        parts.append("\n| property | |\n| --- | --- |\n" + "\n".join(properties) + "\n")
    if kind in RECORDS:
        parts.append(f"\n```python\n{_signature(kind.__name__, kind).partition(' ->')[0]}\n```\n")
    if kind is TrainingClient:
        parts.append(_describe_method("TrainingClient", TrainingClient.__init__))
    for name, value in _members(kind).items():
        if inspect.isfunction(value):
            parts.append(_describe_method(name, value))
    return "".join(parts)


def _members(kind: type) -> dict[str, object]:
    """What people may use of a class, by its own bases too, but not those of msgspec."""
    found: dict[str, object] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("kubedl.client"):
            found |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    return found


def _describe_method(name: str, function: object) -> str:
    return f"\n### {name}\n\n```python\n{_signature(name, function)}\n```\n\n{_doc(function)}\n"


def _signature(name: str, function: object) -> str:
    found = inspect.signature(function)  # type: ignore[arg-type]
    parts = [_parameter(one) for one in found.parameters.values() if one.name != "self"]
    keyword = [one for one in found.parameters.values() if one.kind is one.KEYWORD_ONLY]
    if keyword:
        parts.insert([one.name for one in found.parameters.values() if one.name != "self"].index(keyword[0].name), "*")
    result = _type(found.return_annotation)
    end = "" if result in ("", "None") else f" -> {result}"
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) <= LONGEST:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def _parameter(one: inspect.Parameter) -> str:
    kind = _type(one.annotation)
    text = f"{one.name}: {kind}" if kind else one.name
    if one.default is one.empty:
        return text
    default = "…" if callable(one.default) or repr(one.default).startswith("<") else repr(one.default)
    return f"{text} = {default}"


def _type(annotation: object) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:kubedl|collections|typing|pathlib|datetime)(?:\.\w+)*\.(\w+)", r"\1", text)
    text = re.sub(r"AsyncGenerator\[(.+), None\]", r"Iterator[\1]", text)
    return text.replace("JobLogs", "Logs").replace("ForwardRef('", "").replace("')", "").strip("'").replace("~", "")


def _doc(value: object) -> str:
    return (inspect.getdoc(value) or "").replace("<", "&lt;")


def _describe_errors() -> str:
    kinds = [one for one in vars(client).values() if isinstance(one, type) and issubclass(one, KubedlError)]
    rows = "\n".join(
        f"| `{one.__name__}` | {', '.join(f'`{base.__name__}`' for base in one.__bases__)} | {_doc(one)} |"
        for one in sorted(kinds, key=lambda one: (one is not KubedlError, one.__name__))
    )
    return (
        "\n## Errors\n\nEach has `.message`, `.why`, and `.next`: what to do about it.\n\n"
        f"| error | bases | when |\n| --- | --- | --- |\n{rows}\n"
    )
