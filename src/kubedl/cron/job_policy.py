"""Controller of jobs with a cronPolicy: each gets a Cron of the same name, which it owns and is the template of.

KubeDL 0.5 created such a Cron too, ran the job at once in addition, and left the Cron behind. Here only the Cron runs
it (see `training.planner`), and it is deleted with the job. This controller never writes jobs.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from kubedl.api.conditions import is_finished
from kubedl.api.cron import CRONS, Cron
from kubedl.api.training import TrainingJob, cron_policy
from kubedl.kube import codec
from kubedl.kube.errors import ForbiddenError, InvalidError, NotFoundError
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.runtime.events import EventRecorder, ObjectReference
from kubedl.runtime.ownership import owner_reference
from kubedl.runtime.store import Store
from kubedl.runtime.writer import NameConflictError, Writer, is_controlled_by, merge_patch

APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class ScheduledJobController:
    """Reconciles the Crons of one kind's jobs."""

    def __init__(
        self,
        resource: Resource[TrainingJob],
        jobs: Store[TrainingJob],
        crons: Store[Cron],
        writer: Writer,
        recorder: EventRecorder,
    ) -> None:
        self._resource = resource
        self._jobs = jobs
        self._crons = crons
        self._writer = writer
        self._recorder = recorder

    def job_with_policy(self, job: TrainingJob) -> Iterable[ObjectKey]:
        """Return the key of a job with a schedule: all others cost nothing here."""
        if cron_policy(job) is not None:
            yield job.metadata.key

    async def reconcile(self, key: ObjectKey) -> None:
        """Create or update the Cron of one job."""
        job = self._jobs.get(key)
        if job is None or job.metadata.deletion_timestamp is not None or is_finished(job.status.conditions):
            return
        if cron_policy(job) is None:
            return
        body, found = cron_body(self._resource, job), self._crons.get(key)
        try:
            if found is None or not is_controlled_by(found, job):
                await self._writer.create(job, CRONS, body)
            elif found.metadata.deletion_timestamp is None:
                before = codec.plain(found.spec)
                # Decoded and encoded, so that it has defaults in the same form.
                changes = merge_patch(before, codec.plain(codec.decode(codec.encode(body), Cron).spec))
                if changes:
                    await self._writer.patch(job, CRONS, found, {"spec": changes})
        except (ForbiddenError, InvalidError, NotFoundError, NameConflictError) as refusal:
            about = ObjectReference.of(self._resource, job)
            self._recorder.event(about, "Warning", "CronBlocked", f"cannot create the Cron: {refusal.message}")
            raise


def cron_body(resource: Resource[TrainingJob], job: TrainingJob) -> dict[str, Any]:
    """Return the Cron of a job. A suspended job suspends its schedule, not its runs."""
    policy = cron_policy(job)
    if policy is None:
        raise ValueError(f"{job.metadata.name} has no cronPolicy")
    meta = job.metadata
    spec = {name: value for name, value in codec.plain(job.spec).items() if name not in ("cronPolicy", "suspend")}
    if isinstance(spec.get("runPolicy"), dict):
        spec["runPolicy"] = {name: value for name, value in spec["runPolicy"].items() if name != "cronPolicy"}
    kept = {
        "labels": dict(meta.labels),
        "annotations": {name: value for name, value in meta.annotations.items() if name != APPLIED},
    }
    policy = msgspec.structs.replace(policy, suspend=policy.suspend or job.spec.suspend)
    return {
        "apiVersion": CRONS.api_version,
        "kind": CRONS.kind,
        "metadata": {
            "name": meta.name,
            "namespace": meta.namespace,
            "labels": dict(meta.labels),
            "ownerReferences": [owner_reference(resource, job)],
        },
        "spec": {
            **codec.plain(policy),
            "template": {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "workload": {"metadata": {name: value for name, value in kept.items() if value}, "spec": spec},
            },
        },
    }
