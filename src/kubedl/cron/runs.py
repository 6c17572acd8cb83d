"""Runs of a Cron: names, bodies, and what the status says of them. Pure.

The name of a run follows from its scheduled minute. So whoever starts a run a second time finds that it exists.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kubedl.api.conditions import is_finished, is_true
from kubedl.api.cron import (
    CRON_NAME,
    CRONS,
    MOST_ROWS,
    NO_NESTING,
    SCHEDULED_TIME,
    Cron,
    CronHistory,
    CronTemplate,
    RunObject,
    RunReference,
)
from kubedl.api.training import TrainingJob
from kubedl.kube.types.meta import Resource
from kubedl.runtime.ownership import owner_reference

# Pods are named {job}-{role}-{index} with at most 63 characters: this leaves room for every role of every kind.
LONGEST_NAME = 47
DIGEST = 8
LONGEST_NUMBER = 12
IN_SECONDS = 10**9  # as minutes, a time in the year 3871
DELETED = "Deleted"


@dataclass(frozen=True)
class Run:
    """A job that a Cron controls."""

    resource: Resource[TrainingJob]
    job: TrainingJob

    @property
    def name(self) -> str:
        """Return the name of the job."""
        return self.job.metadata.name

    @property
    def is_finished(self) -> bool:
        """Return whether the job has ended; suspended and queued jobs have not."""
        return is_finished(self.job.status.conditions)

    @property
    def is_leaving(self) -> bool:
        """Return whether the job is being deleted."""
        return self.job.metadata.deletion_timestamp is not None

    def reference(self) -> RunReference:
        """Return the reference for the status."""
        meta = self.job.metadata
        return RunReference(
            api_version=self.resource.api_version,
            kind=self.resource.kind,
            name=meta.name,
            namespace=meta.namespace,
            uid=meta.uid,
        )


def run_name(cron: str, scheduled: datetime) -> str:
    """Return the name of the run of this time; a long name of a Cron is shortened, with a digest."""
    suffix = f"-{int(scheduled.timestamp()) // 60}"
    room = LONGEST_NAME - len(suffix)
    if len(cron) > room:
        digest = hashlib.blake2b(cron.encode(), digest_size=DIGEST // 2).hexdigest()
        cron = f"{cron[: room - DIGEST - 1].rstrip('-')}-{digest}"
    return cron + suffix


def minute_of(name: str) -> int:
    """Return the minute in the name of a run; 0 in any other name. Names of KubeDL 0.5 have seconds."""
    text = name.rpartition("-")[2]
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER else 0
    return number // 60 if number >= IN_SECONDS else number


def template_complaint(template: CronTemplate, namespace: str) -> str:
    """Return why no run can be made of a template; empty if one can. The API server checks most of it, but not before.

    A Cron that was stored under the definition of KubeDL 0.5 may have anything in its workload.
    """
    workload = template.workload.unpack()
    meta, spec = workload.get("metadata") or {}, workload.get("spec") or {}
    if not isinstance(meta, dict) or not isinstance(spec, dict):
        return "metadata and spec of the workload are objects"
    if any(not isinstance(meta.get(part) or {}, dict) for part in ("labels", "annotations")):
        return "labels and annotations of the workload are objects"
    if meta.get("namespace") not in (None, "", namespace):
        return "runs are created in the namespace of the Cron; remove namespace"
    policy = spec.get("runPolicy")
    if "cronPolicy" in spec or (isinstance(policy, dict) and "cronPolicy" in policy):
        return NO_NESTING
    return ""


def run_body(cron: Cron, scheduled: datetime) -> dict[str, Any]:
    """Return the job of a run: the workload of the template, with name, label and owner."""
    template = cron.spec.template
    workload = template.workload.unpack()
    given: Mapping[str, Any] = workload.get("metadata") or {}
    annotations = {SCHEDULED_TIME: scheduled.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    return {
        "apiVersion": template.api_version,
        "kind": template.kind,
        "metadata": {
            "name": run_name(cron.metadata.name, scheduled),
            "namespace": cron.metadata.namespace,
            "labels": {**(given.get("labels") or {}), CRON_NAME: cron.metadata.name},
            "annotations": {**(given.get("annotations") or {}), **annotations},
            "ownerReferences": [owner_reference(CRONS, cron)],
        },
        "spec": workload.get("spec") or {},
    }


def claimed(cron: Cron, scheduled: datetime) -> RunReference:
    """Return the reference to a run that is about to be created."""
    template = cron.spec.template
    return RunReference(
        api_version=template.api_version,
        kind=template.kind,
        name=run_name(cron.metadata.name, scheduled),
        namespace=cron.metadata.namespace,
    )


def history(
    before: Iterable[CronHistory], runs: Iterable[Run], lost: Iterable[RunReference], limit: int | None, now: datetime
) -> tuple[CronHistory, ...]:
    """Return the rows of ended runs, oldest first. Rows outlive their jobs; `lost` jobs were deleted before the end."""
    rows = {(row.object.kind, row.object.name): row for row in before}
    for gone in lost:
        object_ = RunObject(kind=gone.kind, name=gone.name, api_group=gone.api_version.partition("/")[0])
        rows.setdefault((gone.kind, gone.name), CronHistory(object=object_, status=DELETED, finished=now))
    for run in runs:
        if run.is_finished:
            rows[run.resource.kind, run.name] = _row(run)
    most = MOST_ROWS if limit is None else min(limit, MOST_ROWS)
    ordered = sorted(rows.values(), key=lambda row: (minute_of(row.object.name), row.object.name))
    return tuple(ordered[max(0, len(ordered) - most) :])


def expired(runs: Iterable[Run], limit: int | None) -> tuple[Run, ...]:
    """Return the finished runs to delete, so that the newest `limit` remain."""
    if limit is None:
        return ()
    finished = sorted((run for run in runs if run.is_finished), key=lambda run: (minute_of(run.name), run.name))
    return tuple(run for run in finished[: max(0, len(finished) - limit)] if not run.is_leaving)


def _row(run: Run) -> CronHistory:
    status, meta = run.job.status, run.job.metadata
    return CronHistory(
        object=RunObject(kind=run.resource.kind, name=run.name, api_group=run.resource.group),
        status="Succeeded" if is_true(status.conditions, "Succeeded") else "Failed",
        created=meta.creation_timestamp,
        finished=status.completion_time,
    )
