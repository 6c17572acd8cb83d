"""What the API answers about jobs that were deleted, from the history."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubedl.console.history_rights import HistoryRights, kind_named, resource_names
from kubedl.console.history_source import History, Wanted
from kubedl.console.kinds import PODS
from kubedl.console.log_pages import LogPages
from kubedl.console.people import Caller
from kubedl.console.problems import forbidden, no_such_job
from kubedl.console.rights import Rights
from kubedl.console.wire_base import Missing
from kubedl.console.wire_cost import Money
from kubedl.console.wire_history import (
    PastEventRow,
    PastJobList,
    PastJobPage,
    PastJobRow,
    PastPodRow,
    Receipt,
    ReceiptLine,
)
from kubedl.history.observed_pods import EVENTS
from kubedl.kube.types.meta import ObjectKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubedl.console.history_reader import PastJob
    from kubedl.history.queries.answers import JobSummary, ReceiptLineRecord, ReceiptRecord


@dataclass(frozen=True)
class PastPages:
    """Answers for one caller at a time."""

    history: History
    rights: Rights

    async def deleted_jobs(self, caller: Caller, wanted: Wanted, after: str) -> PastJobList:
        """Return a page of jobs that were deleted."""
        if not self.history.installed:
            return PastJobList(installed=False, rows=(), next="", hidden_namespaces=0)
        reader, asked = self.history.insist(), HistoryRights(self.rights)
        wanted = wanted._replace(kind=kind_named(wanted.kind) if wanted.kind else "")
        if wanted.namespace:
            sight = await asked.within(caller, wanted.namespace, wanted.kind)
        else:
            places = await reader.places_of_jobs()
            sight = await asked.everywhere(caller, {k: v for k, v in places.items() if wanted.kind in ("", k)})
        page = await reader.deleted_jobs(sight.allowed, wanted, after)
        return PastJobList(
            installed=True,
            rows=[_row(job) for job in page.jobs],
            next=page.next,
            hidden_namespaces=sight.hidden_namespaces,
        )

    async def job(self, caller: Caller, kind: str, key: ObjectKey, uid: str) -> PastJobPage:
        """Return one job. One that the person may not see is refused alike, whether it exists or not."""
        kind = kind_named(kind)
        resource, place = resource_names()[kind], frozenset({key.namespace})
        if not await self.rights.list_in(caller, resource, key.namespace):
            raise forbidden(caller.person.name, "list", resource, key.namespace)
        found = await self.history.insist().job({kind: place}, uid)
        if found is None or found.detail.job.name != key.name:
            raise no_such_job(key.namespace, kind, key.name)
        sees_pods = await self.rights.list_in(caller, PODS.name, key.namespace)
        sees_events = await self.rights.list_in(caller, EVENTS.name, key.namespace)
        readable = await LogPages(self.history, self.rights).can_read(caller, key.namespace)
        hidden = [name for name, seen in ((PODS.name, sees_pods), (EVENTS.name, sees_events)) if not seen]
        return PastJobPage(
            job=_row(found.detail.job),
            message=_message(found),
            pods=_pods(found, readable=readable) if sees_pods else (),
            events=_events(found, of_pods=sees_pods) if sees_events else (),
            receipt=_receipt(found.receipt, found.lines) if found.receipt is not None else None,
            missing=[Missing(verb="list", resource=name, namespace=key.namespace) for name in hidden],
        )


def _row(job: "JobSummary") -> PastJobRow:
    return PastJobRow(
        uid=job.uid,
        namespace=job.namespace,
        kind=job.kind,
        name=job.name,
        state=job.state,
        reason=job.reason,
        user=job.user_name,
        queue=job.queue,
        gpus=job.gpus,
        restarts=job.restarts,
        model_version=job.model_version,
        created=job.created,
        started=job.started,
        finished=job.finished,
        deleted=job.deleted,
        deletion=job.deletion,
    )


def _message(found: "PastJob") -> str:
    status = found.detail.body.get("status")
    message = status.get("message") if isinstance(status, dict) else ""
    return message if isinstance(message, str) else ""


def _pods(found: "PastJob", *, readable: bool) -> list[PastPodRow]:
    logs = {one.uid: one for one in found.logs}
    rows = []
    for pod in found.detail.pods:
        log = logs.get(pod.uid)
        rows.append(
            PastPodRow(
                uid=pod.uid,
                name=pod.name,
                replica=f"{pod.role.lower()}-{pod.replica_index}",
                attempt=pod.attempt,
                phase=pod.phase,
                reason=pod.reason,
                exit_code=pod.exit_code,
                node=pod.node,
                restarts=pod.restarts,
                started=pod.started,
                finished=pod.finished,
                log=(log.log_location or "") if log is not None else "",
                log_cut=bool(log is not None and log.log_cut),
                log_readable=readable and log is not None and bool(log.log_location),
            )
        )
    return rows


def _events(found: "PastJob", *, of_pods: bool) -> list[PastEventRow]:
    """Return the events; those about pods name them, and need the right to list pods too."""
    return [
        PastEventRow(
            about=f"{event.object_kind}/{event.object_name}",
            type=event.type,
            reason=event.reason,
            message=event.message,
            count=event.count,
            time=event.last_seen,
        )
        for event in sorted(found.detail.events, key=lambda one: one.last_seen, reverse=True)
        if of_pods or event.object_kind != PODS.kind
    ]


def _receipt(receipt: "ReceiptRecord", lines: "Sequence[ReceiptLineRecord]") -> Receipt:
    def price(micros: int) -> Money | None:
        return Money(currency=receipt.currency, micros=micros) if micros > 0 else None

    return Receipt(
        waiting_seconds=receipt.waiting_seconds,
        running_seconds=receipt.running_seconds,
        restarted_seconds=receipt.restarted_seconds,
        lost_seconds=receipt.lost_seconds,
        gpu_seconds=receipt.gpu_seconds,
        cpu_seconds=receipt.cpu_seconds,
        memory_gib_seconds=receipt.memory_gib_seconds,
        cost=price(receipt.cost_micros),
        unpriced=any(line.cost_micros == 0 for line in lines),
        lines=[
            ReceiptLine(
                day=line.day,
                pool=line.pool,
                spot=line.spot,
                gpu_seconds=line.gpu_seconds,
                cpu_seconds=line.cpu_seconds,
                memory_gib_seconds=line.memory_gib_seconds,
                cost=price(line.cost_micros),
            )
            for line in lines
        ],
    )
