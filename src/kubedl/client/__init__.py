"""Training jobs of a cluster, from Python: `with TrainingClient() as client: client.list_jobs()`.

The names are those of Kubeflow's client. It prints nothing, and every error is a KubedlError.
"""

from typing import TYPE_CHECKING

from kubedl.client.errors import (
    AlreadyExists,
    Ambiguous,
    Busy,
    CodeTooLarge,
    Conflict,
    Forbidden,
    FunctionNotPortable,
    Invalid,
    JobFailed,
    KubedlError,
    NotFound,
    NotSupported,
    Unauthorized,
    Unreachable,
    WaitTimeout,
)
from kubedl.client.job import Job, JobSummary
from kubedl.client.job_list import JobChange, JobSelection
from kubedl.client.job_logs import Logs
from kubedl.client.log_line import LogLine
from kubedl.client.replicas import Event, Replica
from kubedl.client.training_client import TrainingClient

if TYPE_CHECKING:
    from kubedl.client.async_client import AsyncTrainingClient
    from kubedl.client.history_database import HistoryDatabase
    from kubedl.client.models import Model, ModelVersion
    from kubedl.client.queues import Queue, QueuedJob
    from kubedl.client.services import Predictor, Rollout, Service

__all__ = [
    "AlreadyExists",
    "Ambiguous",
    "AsyncTrainingClient",
    "Busy",
    "CodeTooLarge",
    "Conflict",
    "Event",
    "Forbidden",
    "FunctionNotPortable",
    "HistoryDatabase",
    "Invalid",
    "Job",
    "JobChange",
    "JobFailed",
    "JobSelection",
    "JobSummary",
    "KubedlError",
    "LogLine",
    "Logs",
    "Model",
    "ModelVersion",
    "NotFound",
    "NotSupported",
    "Predictor",
    "Queue",
    "QueuedJob",
    "Replica",
    "Rollout",
    "Service",
    "TrainingClient",
    "Unauthorized",
    "Unreachable",
    "WaitTimeout",
]


# What commands do not load: it takes longer than some of them, or they have no use for it.
_LATER = {
    "AsyncTrainingClient": "async_client",
    "HistoryDatabase": "history_database",
    "Model": "models",
    "ModelVersion": "models",
    "Predictor": "services",
    "Queue": "queues",
    "QueuedJob": "queues",
    "Rollout": "services",
    "Service": "services",
}


def __getattr__(name: str) -> type:
    """Load what is asked for."""
    if name not in _LATER:
        raise AttributeError(name)
    from importlib import import_module  # noqa: PLC0415

    found: type = getattr(import_module(f"kubedl.client.{_LATER[name]}"), name)
    return found
