"""A history with jobs of the past, written by the recorder's own code: rows, receipts and the places of logs."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncEngine

from kubedl.history import rows
from kubedl.history.observed import resource_of_jobs
from kubedl.history.observed_pods import EVENTS, NODES, PODS
from kubedl.history.price_book import PriceBook
from kubedl.history.receipts import Receipts
from kubedl.history.sink import Epoch
from kubedl.history.sinks.database import DatabaseSink
from kubedl.history.tables import pods
from kubedl.kube import codec
from kubedl.training.kinds import all_kinds

GPU, TRAINING = "nvidia.com/gpu", "training.kubedl.io"


@dataclass(frozen=True)
class PastJob:
    """A job that has ended, and was deleted afterwards unless it says otherwise."""

    namespace: str
    name: str
    created: datetime
    waited: timedelta = timedelta(minutes=2)
    ran: timedelta = timedelta(hours=1)
    kind: str = "PyTorchJob"
    state: str = "Succeeded"
    message: str = ""
    user: str = ""
    queue: str = ""
    replicas: int = 1
    gpus: int = 1  # of each pod
    node: str = "node-1"
    lost: timedelta | None = None  # how long a pod ran before it was evicted
    log: str = ""  # where it is archived; with several replicas, `{}` in it is the index
    pod_uids: tuple[str, ...] = ()  # of its replicas; by default any
    event: str = ""  # a message
    data: str = ""  # where its data is
    deleted: bool = True
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))


async def record(
    engine: AsyncEngine, cluster: str, jobs: Sequence[PastJob], book: PriceBook, pools: Mapping[str, str]
) -> None:
    """Write jobs as the recorder does; `pools` has the pool of each node."""
    receipts = Receipts(engine, cluster, lambda: book)
    sink = DatabaseSink(engine, cluster, written=receipts.written)
    await sink.claim(Epoch("lease", 0, "me"))
    began = min(job.created for job in jobs)
    for name, pool in pools.items():
        node = {"metadata": {**_metadata("", name, began), "labels": {"kubedl.io/node-pool": pool}}}
        await sink.write([rows.node_row(NODES.decoder.decode(codec.encode(node)), deleted=False, now=began)])
    for job in jobs:
        ended = job.created + job.waited + job.ran
        kind = next(one for one in all_kinds() if one.kind == job.kind)
        decoder = resource_of_jobs(kind.resource, kind.replicas_field).decoder
        row = rows.job_row(
            job.kind, decoder.decode(codec.encode(_job(job, kind.replicas_field))), deleted=job.deleted, now=ended
        )
        ran = [_pod(job, index, job.created + job.waited, ended) for index in range(job.replicas)]
        if job.lost is not None:
            ran.insert(0, _pod(job, 0, job.created, job.created + job.lost, lost=True))
        found = [PODS.decoder.decode(codec.encode(one)) for one in ran]
        await sink.write([row, *(rows.pod_row(one, deleted=job.deleted, now=ended) for one in found)])
        if job.event:
            event = EVENTS.decoder.decode(codec.encode(_event(job)))
            await sink.write([rows.event_row(event, now=ended)])
        await receipts.compute(job.uid)
        if job.log:
            async with engine.begin() as connection:
                for index, pod in enumerate(found[-job.replicas :]):
                    values = {"log_location": job.log.format(index), "log_restart": 0, "log_cut": False}
                    await connection.execute(update(pods).where(pods.c.uid == pod.metadata.uid).values(values))


def _metadata(namespace: str, name: str, when: datetime, uid: str = "") -> dict[str, Any]:
    found = {"name": name, "uid": uid or str(uuid.uuid4()), "resourceVersion": "1", "creationTimestamp": _moment(when)}
    return {**found, "namespace": namespace} if namespace else found


def _job(job: PastJob, replicas: str) -> dict[str, Any]:
    container = {"name": "main", "resources": {"limits": {GPU: job.gpus}}}
    ended = job.created + job.waited + job.ran
    status = {"state": job.state, "message": job.message, "startTime": _moment(job.created + job.waited)}
    sources = {"dataset": {"dataSources": [{"location": job.data}]}}
    spec: dict[str, Any] = {"cacheBackend": {"name": "data", **sources}} if job.data else {}
    return {
        "metadata": {
            **_metadata(job.namespace, job.name, job.created, job.uid),
            "labels": {"kueue.x-k8s.io/queue-name": job.queue} if job.queue else {},
            "annotations": {"kubedl.io/user": job.user} if job.user else {},
        },
        "spec": {
            **spec,
            replicas: {"Worker": {"replicas": job.replicas, "template": {"spec": {"containers": [container]}}}},
        },
        "status": {**status, "completionTime": _moment(ended)},
    }


def _pod(job: PastJob, index: int, began: datetime, ended: datetime, *, lost: bool = False) -> dict[str, Any]:
    failed = lost or job.state == "Failed"
    end = {"exitCode": int(failed), "reason": "Error" if failed else "Completed"}
    end |= {"startedAt": _moment(began), "finishedAt": _moment(ended)}
    owner = {"apiVersion": f"{TRAINING}/v1alpha1", "kind": job.kind, "name": job.name, "uid": job.uid}
    uid = job.pod_uids[index] if job.pod_uids and not lost else ""
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": _moment(began)}]
    if lost:
        conditions.append({"type": "DisruptionTarget", "status": "True", "lastTransitionTime": _moment(ended)})
    return {
        "metadata": {
            **_metadata(job.namespace, f"{job.name}-worker-{index}", began, uid),
            "labels": {f"{TRAINING}/replica-type": "worker", f"{TRAINING}/replica-index": str(index)},
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {
            "nodeName": job.node,
            "containers": [{"name": "main", "resources": {"limits": {GPU: job.gpus}, "requests": {"cpu": "4"}}}],
        },
        "status": {
            "phase": "Failed" if failed else "Succeeded",
            "conditions": conditions,
            "containerStatuses": [{"name": "main", "state": {"terminated": end}}],
        },
    }


def _event(job: PastJob) -> dict[str, Any]:
    about = {"kind": job.kind, "name": job.name, "namespace": job.namespace, "uid": job.uid}
    said = {"reason": job.state, "message": job.event, "type": "Normal", "lastTimestamp": _moment(job.created)}
    return {"metadata": _metadata(job.namespace, f"{job.name}.1", job.created), "involvedObject": about, **said}


def _moment(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
