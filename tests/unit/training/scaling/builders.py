"""Scalers and their jobs for tests."""

from typing import Any

import msgspec

from kubedl.api.elastic import ElasticStatus
from kubedl.api.scaling import SCALE_INS, SCALE_OUTS
from kubedl.kube import codec
from kubedl.training.scaling.plan import Observed, Plan, plan
from kubedl.training.scaling.scaler import Scaler
from kubedl.training.scaling.sizing import Target
from tests.training_builders import NAMESPACE, NOW, JobBuilder, PodBuilder, after, pod, torch_job

JOB = "bert"


def elastic(workers: int, *, generation: int = 1, seen: int | None = None, **spec: object) -> JobBuilder:
    """A running job with two to six workers; `seen` is the size that the engine knows of."""
    job = torch_job(JOB).workers(workers).with_metadata(generation=generation)
    job = job.with_spec(elastic={"minReplicas": 2, "maxReplicas": 6}, **spec)
    return job.with_status(start_time=NOW, elastic=ElasticStatus(size=workers if seen is None else seen))


def running(job: JobBuilder, *indexes: int) -> list[PodBuilder]:
    """The pods of these workers."""
    return [pod(job, "Worker", index).running() for index in indexes]


def scale_in(name: str = "less", *, created: float = 0, labels: dict[str, str] | None = None, **spec: object) -> Scaler:
    """A ScaleIn of one pod, unless it is told otherwise."""
    return Scaler(SCALE_INS, _decoded(SCALE_INS, name, created, labels, {"toDelete": {"count": 1}, **spec}))


def scale_out(
    name: str = "more", *, created: float = 0, labels: dict[str, str] | None = None, **spec: object
) -> Scaler:
    """A ScaleOut of one pod, unless it is told otherwise."""
    return Scaler(SCALE_OUTS, _decoded(SCALE_OUTS, name, created, labels, {"toAdd": {"count": 1}, **spec}))


def target(job: JobBuilder, *pods: PodBuilder) -> Target:
    """The job and its pods as the controller sees them."""
    return Target(job.kind, job.kind.job(job.build()), tuple(one.build() for one in pods))


def decide(
    *scalers: Scaler, job: JobBuilder | None = None, pods: list[PodBuilder] | None = None, now: float = 0
) -> Plan:
    """Plan, with an API server that has this job and no other."""
    targets = (target(job, *(pods or ())),) if job is not None else ()
    return plan(Observed(JOB, scalers, targets, after(now), inquired=True))


def written(decided: Plan) -> Scaler:
    """The scaler after the plan's status was written."""
    assert decided.scaler is not None
    assert decided.status is not None
    return Scaler(decided.scaler.resource, msgspec.structs.replace(decided.scaler.body, status=decided.status))


def claimed(scaler: Scaler, job: JobBuilder) -> Scaler:
    """The scaler after its pods were written into its status."""
    return written(decide(scaler, job=job))


def begun(scaler: Scaler, job: JobBuilder, resized: JobBuilder) -> Scaler:
    """The scaler after its job was resized, and this was written down."""
    return written(decide(claimed(scaler, job), job=resized))


def said(decided: Plan) -> tuple[str, str, str]:
    """The last condition that a plan writes: type, reason and message."""
    assert decided.status is not None
    last = decided.status.conditions[-1]
    assert last.type == decided.status.phase
    return last.type, last.reason, last.message


def _decoded(resource: Any, name: str, created: float, labels: dict[str, str] | None, spec: dict[str, object]) -> Any:  # noqa: ANN401
    meta = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "resourceVersion": "1", "labels": labels or {}}
    meta["creationTimestamp"] = codec.plain(after(created))
    return resource.decoder.decode(codec.encode({"metadata": meta, "spec": {"selector": {"name": JOB}, **spec}}))
