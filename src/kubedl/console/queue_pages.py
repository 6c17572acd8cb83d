"""What the API answers about queues of Kueue.

The order of those who wait is that of `kubedl queue get`: priority, then time. Kueue alone knows the exact one, which
its visibility API tells, and that is not installed everywhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec.structs import replace

from kubedl.api.conditions import Condition, find, is_true
from kubedl.console.kinds import job_kind
from kubedl.console.listing import Listing
from kubedl.console.people import Caller
from kubedl.console.queue_kinds import (
    CLUSTER_QUEUES,
    LOCAL_QUEUES,
    WORKLOADS,
    LocalQueueStatus,
    ShownClusterQueue,
    ShownClusterQueueStatus,
    ShownLocalQueue,
    ShownWorkload,
)
from kubedl.console.rows import LONGEST_MESSAGE
from kubedl.console.usage import summed
from kubedl.console.wire_queues import ClusterQueueRow, LocalQueueRow, QueueList, Quota, WaitingRow
from kubedl.history.resource_requests import of_pod
from kubedl.kube.quantity import Quantity, exact
from kubedl.kube.types.meta import ObjectKey

MOST = 500  # queues of each kind, and Workloads
STOPPED = "stopped: nothing in it is admitted"
# Kueue has not seen the queue, or is not there.
NO_STATUS, NO_LOCAL_STATUS = ShownClusterQueueStatus(), LocalQueueStatus()
EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class QueuePages:
    """Answers for one caller at a time."""

    listing: Listing

    async def queues(self, caller: Caller) -> QueueList:
        """Return the queues that a person may list, and who waits in them."""
        stores = self.listing.stores
        if not self.listing.installed(LOCAL_QUEUES):
            return QueueList(
                installed=False,
                cluster_queues=(),
                local_queues=(),
                waiting=(),
                more_waiting=0,
                more_queues=0,
                missing=(),
            )
        shared = await self.listing.visible(caller, CLUSTER_QUEUES, stores.cluster_queues)
        local = await self.listing.visible(caller, LOCAL_QUEUES, stores.local_queues)
        jobs = await self.listing.visible(caller, WORKLOADS, stores.workloads)
        seen = {one.metadata.uid for one in jobs.objects}
        named = {one.metadata.key for one in local.objects}  # a LocalQueue tells which ClusterQueue it is of
        waiting = [
            row if (row.namespace, row.queue) in named else replace(row, cluster_queue="")
            for row in self._waiting()
            if row.uid in seen
        ]
        clusters = sorted(shared.objects, key=lambda one: one.metadata.name)
        queues = sorted(local.objects, key=lambda one: one.metadata.key)
        return QueueList(
            installed=True,
            cluster_queues=[_cluster_queue(one) for one in clusters[:MOST]],
            local_queues=[_local_queue(one) for one in queues[:MOST]],
            waiting=waiting[:MOST],
            more_waiting=max(0, len(waiting) - MOST),
            more_queues=max(0, len(clusters) - MOST) + max(0, len(queues) - MOST),
            missing=[*shared.missing, *local.missing, *jobs.missing],
        )

    def _waiting(self) -> list[WaitingRow]:
        """Return all who wait, by ClusterQueue and in order."""
        stores = self.listing.stores
        lines: dict[str, list[ShownWorkload]] = {}
        for workload in stores.workloads:
            if waits(workload):
                key = ObjectKey(workload.metadata.namespace, workload.spec.queue_name)
                queue = stores.local_queues.get(key)
                lines.setdefault(queue.spec.cluster_queue if queue is not None else "", []).append(workload)
        return [
            _waiting_row(workload, name, position)
            for name, line in sorted(lines.items())
            for position, workload in enumerate(sorted(line, key=_turn), 1)
        ]


def waits(workload: ShownWorkload) -> bool:
    """Return whether Kueue would admit a Workload if there was quota."""
    conditions = workload.status.conditions
    return workload.spec.active and not is_true(conditions, "Admitted") and not is_true(conditions, "Finished")


def _turn(workload: ShownWorkload) -> tuple[int, datetime, str]:
    return -workload.spec.priority, workload.metadata.creation_timestamp or EARLIEST, workload.metadata.uid


def _waiting_row(workload: ShownWorkload, cluster_queue: str, position: int) -> WaitingRow:
    meta, owner = workload.metadata, workload.metadata.controller
    wanted = summed(of_pod(part.template.spec).times(part.count) for part in workload.spec.pod_sets)
    reserved = find(workload.status.conditions, "QuotaReserved")
    return WaitingRow(
        uid=meta.uid,
        position=position,
        namespace=meta.namespace,
        queue=workload.spec.queue_name,
        cluster_queue=cluster_queue,
        kind=owner.kind if owner is not None and job_kind(owner) else "",
        name=owner.name if owner is not None else meta.name,
        priority=workload.spec.priority,
        cpu_millis=wanted.cpu_millis,
        memory_bytes=wanted.memory_bytes,
        gpus=wanted.gpus,
        since=meta.creation_timestamp,
        message=reserved.message[:LONGEST_MESSAGE] if reserved is not None and reserved.status != "True" else "",
    )


def _cluster_queue(queue: ShownClusterQueue) -> ClusterQueueRow:
    spec, status = queue.spec, queue.status
    used = {(flavor.name, one.name): one for flavor in status.flavors_usage for one in flavor.resources}
    quotas = []
    for flavor in (flavor for group in spec.resource_groups for flavor in group.flavors):
        for one in flavor.resources:
            usage = used.get((flavor.name, one.name))
            quotas.append(
                Quota(
                    flavor=flavor.name,
                    resource=one.name,
                    nominal=_number(one.nominal_quota),
                    used=_number(usage.total) if usage is not None else None,
                    borrowed=_number(usage.borrowed) if usage is not None else None,
                )
            )
    stopped, said = spec.stop_policy not in ("", "None"), status != NO_STATUS
    return ClusterQueueRow(
        name=queue.metadata.name,
        cohort=spec.cohort_name,
        problem=STOPPED if stopped else _problem(status.conditions),
        quotas=quotas,
        waiting=status.pending_workloads if said else None,
        admitted=status.admitted_workloads if said else None,
    )


def _local_queue(queue: ShownLocalQueue) -> LocalQueueRow:
    said = queue.status != NO_LOCAL_STATUS
    return LocalQueueRow(
        namespace=queue.metadata.namespace,
        name=queue.metadata.name,
        cluster_queue=queue.spec.cluster_queue,
        problem=_problem(queue.status.conditions),
        waiting=queue.status.pending_workloads if said else None,
        admitted=queue.status.admitted_workloads if said else None,
    )


def _problem(conditions: Iterable[Condition]) -> str:
    active = find(conditions, "Active")
    return (active.message or active.reason) if active is not None and active.status == "False" else ""


def _number(quantity: Quantity) -> float:
    try:
        return float(exact(quantity))
    except (ValueError, ArithmeticError):
        return 0.0
