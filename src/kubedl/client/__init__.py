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
    "Invalid",
    "Job",
    "JobChange",
    "JobFailed",
    "JobSelection",
    "JobSummary",
    "KubedlError",
    "LogLine",
    "Logs",
    "NotFound",
    "NotSupported",
    "Replica",
    "TrainingClient",
    "Unauthorized",
    "Unreachable",
    "WaitTimeout",
]


def __getattr__(name: str) -> type:
    """Load the client for event loops when it is asked for: it takes longer to load than a command."""
    if name == "AsyncTrainingClient":
        from kubedl.client.async_client import AsyncTrainingClient  # noqa: PLC0415

        return AsyncTrainingClient
    raise AttributeError(name)
