"""Who held how much quota of Kueue, by what the API server recorded of every write to a Workload.

Writes are put in the order of their resource versions, in which they were stored; a log has them as they were answered.
A Workload that was deleted counts on with what it held, since an answer to a deletion has no version.

A write whose client died before the answer is in the log as a timeout, stored or not. Who kills clients adds what a
watch has seen (`observed`), which has every write that was stored.
"""

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from harness.drivers import audit_log
from testbed.api import Object
from testbed.cluster import Cluster

MARK = b'"resource":"workloads"'
JOB = "training.kubedl.io/job-name"


@dataclass(frozen=True, order=True)
class Change:
    """A Workload after one write."""

    version: int  # the resource version
    name: str
    queue: str  # the ClusterQueue that has admitted it, or had
    held: float  # of the resource
    job: str
    evicted: bool


class _Condition(msgspec.Struct):
    type: str
    status: str


class _Assignment(msgspec.Struct, rename="camel"):
    name: str = ""
    count: int = 0
    resource_usage: dict[str, str] = {}


class _Admission(msgspec.Struct, rename="camel"):
    cluster_queue: str = ""
    pod_set_assignments: list[_Assignment] = []


class _Reclaimable(msgspec.Struct):
    name: str
    count: int


class _Status(msgspec.Struct, rename="camel"):
    admission: _Admission | None = None
    conditions: list[_Condition] = []
    reclaimable_pods: list[_Reclaimable] = []


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}


class _Workload(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    status: _Status = msgspec.field(default_factory=_Status)


class _Answer(msgspec.Struct):
    code: int = 0


class _Event(msgspec.Struct, rename="camel"):
    request_received_timestamp: datetime.datetime
    verb: str = ""
    response_status: _Answer = msgspec.field(default_factory=_Answer)
    response_object: msgspec.Raw = msgspec.Raw(b"{}")


_decode = msgspec.json.Decoder(_Event).decode
_workload = msgspec.json.Decoder(_Workload).decode


def changes(cluster: Cluster, namespace: str, resource: str, since: datetime.datetime) -> list[Change]:
    """All writes to the Workloads of a namespace since then, in order."""
    mark = f'"namespace":"{namespace}"'.encode()
    found: set[Change] = set()
    for file in audit_log.files(cluster, since):
        with file.open("rb") as lines:
            for line in lines:
                if MARK in line and mark in line and line.endswith(b"\n"):
                    event = _decode(line)
                    if event.response_status.code < 300 and event.verb != "delete":
                        found.add(_change(_workload(event.response_object), resource))
    return sorted(found)


def observed(workload: Object, resource: str) -> Change:
    """A write as a watch has shown it."""
    return _change(msgspec.convert(workload, _Workload), resource)


def peaks(history: Iterable[Change]) -> Mapping[str, float]:
    """The most that was held of each ClusterQueue at any moment, and of all together under the empty name."""
    held: dict[str, Change] = {}
    totals: dict[str, float] = defaultdict(float)
    most: dict[str, float] = defaultdict(float)
    for change in history:
        before = held.get(change.name)
        held[change.name] = change
        for sign, one in ((-1, before), (1, change)):
            if one is not None and one.held:
                totals[one.queue] += sign * one.held
                totals[""] += sign * one.held
        for queue in (change.queue, ""):
            most[queue] = max(most[queue], totals[queue])
    return most


def admitted(history: Iterable[Change]) -> list[str]:
    """The jobs in the order in which they got quota; one that got it twice appears twice."""
    before: dict[str, float] = {}
    order = []
    for change in history:
        if change.held and not before.get(change.name):
            order.append(change.job)
        before[change.name] = change.held
    return order


def _change(found: _Workload, resource: str) -> Change:
    meta, status = found.metadata, found.status
    true = {one.type for one in status.conditions if one.status == "True"}
    admission = status.admission
    held = 0.0
    if admission is not None and "QuotaReserved" in true and "Finished" not in true:
        given_back = {one.name: one.count for one in status.reclaimable_pods}
        for part in admission.pod_set_assignments:
            used = _number(part.resource_usage.get(resource, "0"))
            held += used * (part.count - given_back.get(part.name, 0)) / part.count if part.count else 0.0
    queue = admission.cluster_queue if admission is not None else ""
    return Change(int(meta.resource_version), meta.name, queue, held, meta.labels.get(JOB, ""), "Evicted" in true)


def _number(quantity: str) -> float:
    return float(quantity[:-1]) / 1000 if quantity.endswith("m") else float(quantity)
