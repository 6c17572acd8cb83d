"""Follows the logs of all replicas of a job until it ends: every line once, also when connections break.

One work watches the job, one its pods, and one reads each container: threads, or tasks of an event loop. What they
find goes through one channel to the caller.
"""

import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any

from kubedl.client import log_reader, watching
from kubedl.client.calls import Calls, Channel, Work
from kubedl.client.job import Job
from kubedl.client.log_line import LogLine, Position
from kubedl.client.log_reader import LogOptions
from kubedl.client.log_sources import pods_of, replica_name, waits_for
from kubedl.kube.errors import InvalidError, NotFoundError, UnknownOutcomeError

AT_ONCE = 64  # replicas
ROOM = 10_000  # lines that wait for the caller
PATIENCE = 5.0  # seconds for the pod's status to say why its log ended
QUIET = 0.5  # seconds without a line after which a pod that outlives its job has told what it had to
PAUSE = 1.0  # seconds before a log is opened again
ENDED = ("Succeeded", "Failed")

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Note:
    """Something to say between the lines."""

    text: str


Item = LogLine | Note | Exception | Job | None


class LogFollower:
    """The followed logs of one job. `job` is its last known state, which is final when the lines have ended."""

    def __init__(
        self,
        client: Calls,
        job: Job,
        path: str,
        wants: Callable[[str], bool],
        options: LogOptions,
        on_note: Callable[[str], None],
    ) -> None:
        self.job = job
        self._client = client
        self._path = path
        self._wants = wants
        self._options = options
        self._on_note = on_note
        self._items: Channel[Item] = client.channel(ROOM)
        self._pods: dict[str, Object] = {}
        self._seen: set[str] = set()
        self._heard: dict[str, float] = {}  # pod → when its last line came
        self._readers: dict[str, Work] = {}
        self._changed = client.monitor()
        self._over = False
        self._back_at = 0.0

    async def lines(self) -> AsyncGenerator[LogLine, None]:
        """Yield the lines, once."""
        works = [self._client.start(self._guarded(work())) for work in (self._watch_job, self._watch_pods)]
        try:
            while (item := await self._items.get()) is not None:
                if isinstance(item, LogLine):
                    yield item
                elif isinstance(item, Note):
                    self._on_note(item.text)
                elif isinstance(item, Job):
                    self.job = item
                else:
                    raise item
        finally:
            self._over = True
            for work in (*works, *self._readers.values()):
                work.stop()
            async with self._changed:
                self._changed.notify_all()

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Do a work; its error becomes the caller's."""
        try:
            await work
        except Exception as error:  # noqa: BLE001 - raised where the lines are taken
            await self._put(error)

    async def _put(self, item: Item) -> None:
        while not self._over and not await self._items.put(item, PAUSE):
            continue

    def _left(self) -> float:
        return 0.0 if self._over else float("inf")

    async def _watch_job(self) -> None:
        """Tell the caller what the job waits for, and end the lines after the job."""
        said, selection = "", {"fieldSelector": f"metadata.name={self.job.name}"}
        changes = watching.changes(self._client, self._path, selection, self._left)
        async for found in changes:
            known = [Job.of({"kind": self.job.kind, **one}) for one in found]
            job = next((one for one in known if one.uid == self.job.uid), None)
            if job is None:
                await self._put(Note(f"{self.job.name} was deleted"))
                break
            await self._put(job)
            message = waits_for(job)
            if not self._readers and not job.is_finished and message != said:
                await self._put(Note(f"waiting for pods: {message}"))
                said = message
            if job.is_finished:
                break
        await changes.aclose()
        await self._finish()
        await self._put(None)

    async def _finish(self) -> None:
        """Read the pods that have ended, also those that the watch has not shown yet, and others until they are quiet.

        A failed job's running pods are deleted, and may take their time.
        """
        for pod in await self._list_pods():
            await self._begin(pod)
        began = time.monotonic()
        while not self._over:
            async with self._changed:
                reading = [(uid, work) for uid, work in self._readers.items() if work.is_going_on]
            waited = [work for uid, work in reading if self._has_ended(uid) or self._is_speaking(uid, began)]
            if not waited:
                return
            await waited[0].join(QUIET / 5)

    def _is_speaking(self, uid: str, began: float) -> bool:
        now = time.monotonic()
        return now - began < PATIENCE and now - max(began, self._heard.get(uid, 0.0)) < QUIET

    async def _list_pods(self) -> list[Object]:
        async with aclosing(watching.changes(self._client, *pods_of(self.job), self._left)) as changes:
            found: list[dict[str, Any]] = await anext(changes, [])
        async with self._changed:
            self._pods |= {pod["metadata"]["uid"]: pod for pod in found}
        return list(found)

    def _has_ended(self, uid: str) -> bool:
        pod = self._pods.get(uid)
        return pod is None or pod["status"].get("phase") in ENDED

    async def _watch_pods(self) -> None:
        async for found in watching.changes(self._client, *pods_of(self.job), self._left):
            async with self._changed:
                self._pods = {pod["metadata"]["uid"]: pod for pod in found}
                self._changed.notify_all()
            for pod in found:
                await self._begin(pod)

    async def _begin(self, pod: Object) -> None:
        """Start to read a pod whose container has started."""
        uid, name = pod["metadata"]["uid"], replica_name(pod)
        container = log_reader.container_of(pod, self._options.container)
        status = _status(pod, container)
        if not self._wants(name) or status is None or not _has_started(status):
            return
        async with self._changed:
            if uid in self._seen:
                return
            self._seen.add(uid)
            is_full = sum(work.is_going_on for work in self._readers.values()) >= AT_ONCE
            if not is_full:
                self._readers[uid] = self._client.start(self._guarded(self._read(pod, name, container)))
        if is_full:
            await self._put(Note(f"{name} is not followed: {AT_ONCE} replicas are; choose with -i"))

    async def _read(self, pod: Object, name: str, container: str) -> None:
        """Read a container to its end, and what replaces it in the same pod."""
        uid, position, lost_at = pod["metadata"]["uid"], Position(), 0.0
        restarts = int((_status(pod, container) or {}).get("restartCount", 0))
        params = self._options.params() | {"follow": "true"}
        while not self._over:
            try:
                await self._pass_on(pod, name, container, position, params, lost_at)
                lost_at = 0.0
            except NotFoundError:
                return
            except InvalidError:  # not started yet
                await self._client.sleep(PAUSE)
            except UnknownOutcomeError:
                lost_at = lost_at or time.monotonic()
                await self._client.sleep(PAUSE)
            latest = self._pods.get(uid) if lost_at else await self._settled(uid, container, restarts)
            if latest is None:
                return
            status = _status(latest, container) or {}
            params = {"follow": "true"} | ({"sinceTime": position.since} if position.is_begun else {})
            if int(status.get("restartCount", 0)) > restarts:
                await self._drain(latest, name, container, position, previous=True)
                restarts, position, params = int(status["restartCount"]), Position(), {"follow": "true"}
            elif not lost_at and "terminated" in (status.get("state") or {}):
                await self._drain(latest, name, container, position, previous=False)
                if latest["status"].get("phase") in ENDED:
                    return
                await self._wait_for(partial(self._moved_on, uid, container, restarts))

    async def _pass_on(
        self,
        pod: Object,
        name: str,
        container: str,
        position: Position,
        params: Mapping[str, str],
        lost_at: float = 0.0,
    ) -> None:
        """Put the new lines of a log into the queue. After a break, the first line proves what was lost."""
        position.resume()
        async with aclosing(log_reader.read(self._client, pod, name, container, params)) as lines:
            async for line in lines:
                self._heard[pod["metadata"]["uid"]] = time.monotonic()
                is_new, lost = position.take(line)
                if lost > 0:
                    await self._put(Note(f"{lost:.0f} s of {name} are lost: the node rotated the file"))
                elif lost_at:
                    await self._say_back(lost_at)
                lost_at = 0.0
                if is_new:
                    await self._put(line)

    async def _say_back(self, lost_at: float) -> None:
        """Say once for all replicas that the connection is back."""
        async with self._changed:
            if lost_at <= self._back_at:
                return
            self._back_at = time.monotonic()
        await self._put(Note(f"connection lost, back after {self._back_at - lost_at:.0f} s; no line is missing"))

    async def _drain(self, pod: Object, name: str, container: str, position: Position, *, previous: bool) -> None:
        """Read what a break may have left at the end of a log."""
        if not position.is_begun:
            return
        part = LogOptions(previous=previous).params()
        try:
            await self._pass_on(pod, name, container, position, part | {"sinceTime": position.since})
        except (NotFoundError, InvalidError):
            return  # it has been removed
        except UnknownOutcomeError as error:
            await self._put(Note(f"the end of {name} may be missing: {error.message}"))

    async def _settled(self, uid: str, container: str, restarts: int) -> Object | None:
        """Return the pod when its status says that the container has ended; its last state after some patience."""
        await self._wait_for(lambda: self._moved_on(uid, container, restarts, ended=True), PATIENCE)
        return self._pods.get(uid)

    def _moved_on(self, uid: str, container: str, restarts: int, *, ended: bool = False) -> bool:
        pod = self._pods.get(uid)
        status = _status(pod, container) if pod is not None else None
        if pod is None or status is None or int(status.get("restartCount", 0)) > restarts:
            return True
        is_over = pod["status"].get("phase") in ENDED
        return is_over or (ended and "terminated" in (status.get("state") or {}))

    async def _wait_for(self, predicate: Callable[[], bool], seconds: float | None = None) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._over or predicate(), seconds)


def _status(pod: Object, container: str) -> Mapping[str, Any] | None:
    statuses = [*(pod["status"].get("containerStatuses") or ()), *(pod["status"].get("initContainerStatuses") or ())]
    found: Mapping[str, Any] | None = next((one for one in statuses if one.get("name") == container), None)
    return found


def _has_started(status: Mapping[str, Any]) -> bool:
    """Return whether a container has a log."""
    states = {**(status.get("lastState") or {}), **(status.get("state") or {})}
    return "running" in states or "terminated" in states
