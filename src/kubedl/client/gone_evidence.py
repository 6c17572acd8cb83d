"""What the history knows about a deleted job, as evidence for `kubedl why`."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kubedl.client.errors import KubedlError
from kubedl.client.gone_jobs import job_of
from kubedl.client.history_operations import HistoryOperations
from kubedl.why.evidence import DeniedError, Evidence, Part, items_of
from kubedl.why.failures import KILLED
from kubedl.why.redaction import clean

if TYPE_CHECKING:
    from kubedl.history.queries.answers import EventRecord, JobDetail, PodRecord, ReceiptRecord

GONE = "the job was deleted"


async def find_evidence(history: HistoryOperations, name: str, namespace: str, kind: str) -> Evidence | None:
    """Return what is known about the newest job of a name; None if the history has no such job.

    Raises what the history raises: whoever asks why must know that it did not answer.
    """
    detail = await history.find(name, namespace=namespace, kind=kind)
    if detail is None:
        return None
    try:
        receipt = await history.receipt(name, namespace=namespace, kind=kind)
    except KubedlError:  # a job that has not ended has none
        receipt = None
    return evidence_of(detail, receipt, datetime.now(UTC))


def evidence_of(detail: "JobDetail", receipt: "ReceiptRecord | None", now: datetime) -> Evidence:
    """Return evidence without pods: those that were recorded were ended by the deletion, too.

    Which of them failed first is in the status, where the operator keeps it while the job exists.
    """
    job, manifest = detail.job, dict(job_of(detail).manifest)
    status = {**manifest["status"], "state": job.state}  # of one that had not ended: Deleted
    first = _first_failure(detail)
    if job.state == "Failed" and first is not None:
        status.setdefault("lastFailure", first)
    past: dict[str, Any] = {"deleted": job.deleted.isoformat() if job.deleted else "", "state": job.state}
    past |= {"reason": job.reason, "byTtl": _is_by_ttl(detail), "user": job.user_name}
    if receipt is not None:
        past["receipt"] = {"runningSeconds": receipt.running_seconds, "gpuSeconds": receipt.gpu_seconds}
    parts = {"pods": [], "events": [_event(one) for one in reversed(detail.events)], "history": past}
    return Evidence(now, clean({**manifest, "status": status}), _absent, parts)


def _absent(_: Evidence, part: Part) -> Any:  # noqa: ANN401 - never returns
    raise DeniedError(GONE)


def _first_failure(detail: "JobDetail") -> dict[str, Any] | None:
    """Return the failure that ended the job, as the operator would have written it into the status.

    Of the last attempt the first pod that ended badly. A kill within the same second comes first: others notice it.
    """
    failed = [one for one in detail.pods if one.phase == "Failed" and one.exit_code and one.finished is not None]
    last = max((one.attempt for one in failed), default=0)
    failed = sorted((one for one in failed if one.attempt == last), key=_order)
    if not failed:
        return None
    first = failed[0]
    return {
        "role": first.role,
        "index": first.replica_index,
        "pod": first.name,
        "node": first.node,
        "container": _container(detail, first.role),
        "exitCode": first.exit_code,
        "reason": first.reason or "Error",
        "time": first.finished.isoformat() if first.finished is not None else "",
        "followers": len(failed) - 1,
    }


def _order(pod: "PodRecord") -> tuple[datetime, bool]:
    moment = pod.finished or pod.created
    return moment.replace(microsecond=0), (pod.exit_code or 0) <= KILLED


def _container(detail: "JobDetail", role: str) -> str:
    """Return the name of the container that the template of a role begins with."""
    for field, roles in (detail.body.get("spec") or {}).items():
        if field.endswith("ReplicaSpecs") and isinstance(roles, Mapping):
            for name, value in roles.items():
                found = items_of(value, "template", "spec", "containers")
                if name.lower() == role.lower() and found:
                    return str(found[0].get("name") or "")
    return ""


def _is_by_ttl(detail: "JobDetail") -> bool:
    """Return whether the job was deleted when its ttlSecondsAfterFinished had passed, give or take a minute."""
    ttl, job = (detail.body.get("spec") or {}).get("ttlSecondsAfterFinished"), detail.job
    if not isinstance(ttl, int) or job.finished is None or job.deleted is None:
        return False
    return timedelta(0) <= job.deleted - job.finished - timedelta(seconds=ttl) <= timedelta(minutes=1)


def _event(one: "EventRecord") -> dict[str, Any]:
    return {
        "type": one.type,
        "reason": one.reason,
        "message": one.message,
        "count": one.count,
        "lastTimestamp": one.last_seen.isoformat(),
        "involvedObject": {"kind": one.object_kind, "name": one.object_name},
    }
