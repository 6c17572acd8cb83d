"""Crons and their runs for tests."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from kubedl.api.conditions import Condition
from kubedl.api.cron import CRONS, Cron
from kubedl.cron.plan import Observed, Plan, plan
from kubedl.cron.runs import Run, run_body
from kubedl.kube import codec
from kubedl.training.kinds.pytorch import PyTorch
from kubedl.training.kinds.tensorflow import TensorFlow

if TYPE_CHECKING:
    from kubedl.api.training import TrainingJob

JOBS = PyTorch().resource
KINDS = {kind.resource.kind: kind.resource for kind in (PyTorch(), TensorFlow())}
NAMESPACE, NAME = "team", "nightly"
CREATED = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)
WORKLOAD: dict[str, Any] = {"spec": {"pytorchReplicaSpecs": {"Master": {"template": {"spec": {"containers": []}}}}}}


def at(hour: int, minute: int = 0, second: int = 0) -> datetime:
    """A time on the day on which Crons are created."""
    return CREATED.replace(hour=hour, minute=minute, second=second)


def cron(schedule: str = "0 * * * *", *, status: dict[str, Any] | None = None, **spec: Any) -> Cron:  # noqa: ANN401
    """A Cron as it comes from the API server."""
    meta = {"name": NAME, "namespace": NAMESPACE, "uid": "uid-cron", "resourceVersion": "1", "generation": 1}
    template = {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "workload": WORKLOAD}
    body = {
        "metadata": {**meta, "creationTimestamp": codec.plain(CREATED)},
        "spec": {"schedule": schedule, "template": template, **spec},
        "status": status or {},
    }
    return CRONS.decoder.decode(codec.encode(body))


def run(of: Cron, scheduled: datetime, ended: str = "", *, leaving: bool = False) -> Run:
    """The job of a run; `ended` is Succeeded or Failed."""
    body = run_body(of, scheduled)
    body["metadata"] |= {"uid": f"uid-{body['metadata']['name']}", "creationTimestamp": codec.plain(scheduled)}
    if leaving:
        body["metadata"]["deletionTimestamp"] = codec.plain(scheduled)
    job: TrainingJob = JOBS.decoder.decode(codec.encode(body))
    if ended:
        condition = Condition(type=ended, status="True")
        status = msgspec.structs.replace(job.status, conditions=(condition,), completion_time=scheduled)
        job = msgspec.structs.replace(job, status=status)
    return Run(JOBS, job)


def decide(of: Cron, now: datetime, *runs: Run) -> Plan:
    """Plan, with answers of an API server that has these runs and no others."""
    observed = Observed(of, runs, KINDS, now)
    decided = plan(observed)
    if decided.inquire:
        decided = plan(Observed(of, runs, KINDS, now, frozenset(decided.inquire)))
    return decided


def reason(decided: Plan) -> str:
    """Why runs are started or not."""
    [condition] = decided.status.conditions
    return condition.reason
