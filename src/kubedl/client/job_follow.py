"""A job together with its pods, as they change."""

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from kubedl.client import watching
from kubedl.client.job import Job
from kubedl.client.job_lookup import Cluster
from kubedl.client.kinds import JobKind
from kubedl.client.log_sources import pods_of
from kubedl.kube.errors import ApiError

Object = dict[str, Any]
JOB, PODS = "job", "pods"


class JobState(NamedTuple):
    """A job, None if it was deleted, and its pods, None if they may not be read."""

    job: Job | None
    pods: list[Object] | None


def follow(cluster: Cluster, kind: JobKind, job: Job, until: Callable[[], float], tick: float) -> Iterator[JobState]:
    """Yield the state at each change, and at least every `tick` seconds, until no seconds are left."""
    news: queue.Queue[tuple[str, list[Object] | ApiError]] = queue.Queue()
    watched = {
        JOB: (kind.path(job.namespace), {"fieldSelector": f"metadata.name={job.name}"}),
        PODS: pods_of(job),
    }
    for what, (path, selection) in watched.items():
        arguments = (cluster, path, selection, until, lambda found, what=what: news.put((what, found)))
        threading.Thread(target=_watch, args=arguments, daemon=True).start()
    state = JobState(job, [])
    while (left := until()) > 0:
        try:
            what, found = news.get(timeout=min(tick, left))
        except queue.Empty:
            yield state
            continue
        if what == PODS:
            state = state._replace(pods=found if isinstance(found, list) else None)
        elif isinstance(found, ApiError):
            raise cluster.failed(found, f"watch {job}") from found
        else:
            known = [Job.of({"kind": job.kind, **one}) for one in found]
            state = state._replace(job=next((one for one in known if one.uid == job.uid), None))
        yield state


def _watch(
    cluster: Cluster,
    path: str,
    selection: Mapping[str, str],
    until: Callable[[], float],
    tell: Callable[[list[Object] | ApiError], None],
) -> None:
    try:
        for found in watching.changes(cluster.client, path, selection, until):
            tell(found)
    except ApiError as error:
        tell(error)
