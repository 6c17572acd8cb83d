"""A job together with its pods, as they change."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, NamedTuple

from kubedl.client import watching
from kubedl.client.job import Job
from kubedl.client.job_lookup import Cluster
from kubedl.client.kinds import JobKind
from kubedl.client.log_sources import pods_of
from kubedl.kube.errors import ApiError

if TYPE_CHECKING:
    from kubedl.client.calls import Channel

Object = dict[str, Any]
JOB, PODS = "job", "pods"
ROOM = 1000  # states that wait for the caller
PAUSE = 1.0  # seconds after which a watch that waits for room looks whether the caller takes more


class JobState(NamedTuple):
    """A job, None if it was deleted, and its pods, None if they may not be read."""

    job: Job | None
    pods: list[Object] | None


async def follow(
    cluster: Cluster, kind: JobKind, job: Job, until: Callable[[], float], tick: float
) -> AsyncGenerator[JobState, None]:
    """Yield the state at each change, and at least every `tick` seconds, until no seconds are left."""
    news = _News(cluster, until)
    watched = {
        JOB: (kind.path(job.namespace), {"fieldSelector": f"metadata.name={job.name}"}),
        PODS: pods_of(job),
    }
    works = [cluster.client.start(news.watch(what, *place)) for what, place in watched.items()]
    state = JobState(job, [])
    try:
        while (left := until()) > 0:
            if (told := await news.within(min(tick, left))) is not None:
                state = _after(state, job, *told, cluster)
            yield state
    finally:
        news.is_over = True
        for work in works:
            work.stop()


def _after(state: JobState, job: Job, what: str, found: list[Object] | ApiError, cluster: Cluster) -> JobState:
    if what == PODS:
        return state._replace(pods=found if isinstance(found, list) else None)
    if isinstance(found, ApiError):
        raise cluster.failed(found, f"watch {job}") from found
    known = [Job.of({"kind": job.kind, **one}) for one in found]
    return state._replace(job=next((one for one in known if one.uid == job.uid), None))


class _News:
    """What both watches have seen, on its way to the caller."""

    def __init__(self, cluster: Cluster, until: Callable[[], float]) -> None:
        self.is_over = False
        self._client, self._until = cluster.client, until
        self._items: Channel[tuple[str, list[Object] | ApiError]] = cluster.client.channel(ROOM)

    async def within(self, seconds: float) -> tuple[str, list[Object] | ApiError] | None:
        """Return the next; None if there is none within this time."""
        return await self._items.get_within(seconds)

    async def watch(self, what: str, path: str, selection: Mapping[str, str]) -> None:
        """Tell each state of what is selected, until nobody takes more."""
        try:
            async with aclosing(watching.changes(self._client, path, selection, self._left)) as states:
                async for found in states:
                    await self._tell((what, found))
        except ApiError as error:
            await self._tell((what, error))

    def _left(self) -> float:
        return 0.0 if self.is_over else self._until()

    async def _tell(self, item: tuple[str, list[Object] | ApiError]) -> None:
        while self._left() > 0 and not await self._items.put(item, PAUSE):
            continue
