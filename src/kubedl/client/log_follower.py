"""Follows the logs of all replicas of a job until it ends: every line once, also when connections break.

One thread watches the job, one its pods, and one reads each container. What they find goes through one queue to the
caller's thread.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kubedl.client import log_reader, watching
from kubedl.client.job import Job
from kubedl.client.log_line import LogLine, Position
from kubedl.client.log_reader import LogOptions
from kubedl.client.log_sources import pods_of, replica_name, waits_for
from kubedl.kube.errors import ApiError, InvalidError, NotFoundError, UnknownOutcomeError
from kubedl.kube.sync_client import SyncClient

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


Item = LogLine | Note | ApiError | Job | None


class LogFollower:
    """The followed logs of one job. `job` is its last known state, which is final when the lines have ended."""

    def __init__(
        self,
        client: SyncClient,
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
        self._items: queue.Queue[Item] = queue.Queue(ROOM)
        self._pods: dict[str, Object] = {}
        self._seen: set[str] = set()
        self._heard: dict[str, float] = {}  # pod → when its last line came
        self._readers: dict[str, threading.Thread] = {}
        self._changed = threading.Condition()
        self._over = False
        self._back_at = 0.0

    def __iter__(self) -> Iterator[LogLine]:
        for target in (self._watch_job, self._watch_pods):
            threading.Thread(target=self._guarded, args=(target,), daemon=True).start()
        try:
            while (item := self._items.get()) is not None:
                if isinstance(item, LogLine):
                    yield item
                elif isinstance(item, Note):
                    self._on_note(item.text)
                elif isinstance(item, Job):
                    self.job = item
                else:
                    raise item
        finally:
            with self._changed:
                self._over = True
                self._changed.notify_all()

    def _guarded(self, target: Callable[..., None], *arguments: object) -> None:
        """Run a thread; its error becomes the caller's."""
        try:
            target(*arguments)
        except ApiError as error:
            self._put(error)

    def _put(self, item: Item) -> None:
        while not self._over:
            try:
                return self._items.put(item, timeout=PAUSE)
            except queue.Full:
                continue
        return None

    def _left(self) -> float:
        return 0.0 if self._over else float("inf")

    def _watch_job(self) -> None:
        """Tell the caller what the job waits for, and end the lines after the job."""
        said, selection = "", {"fieldSelector": f"metadata.name={self.job.name}"}
        for found in watching.changes(self._client, self._path, selection, self._left):
            known = [Job.of({"kind": self.job.kind, **one}) for one in found]
            job = next((one for one in known if one.uid == self.job.uid), None)
            if job is None:
                self._put(Note(f"{self.job.name} was deleted"))
                break
            self._put(job)
            message = waits_for(job)
            if not self._readers and not job.is_finished and message != said:
                self._put(Note(f"waiting for pods: {message}"))
                said = message
            if job.is_finished:
                break
        self._finish()
        self._put(None)

    def _finish(self) -> None:
        """Read the pods that have ended, also those that the watch has not shown yet, and others until they are quiet.

        A failed job's running pods are deleted, and may take their time.
        """
        for pod in self._list_pods():
            self._begin(pod)
        began = time.monotonic()
        while not self._over:
            with self._changed:
                reading = [(uid, thread) for uid, thread in self._readers.items() if thread.is_alive()]
            waited = [thread for uid, thread in reading if self._has_ended(uid) or self._is_speaking(uid, began)]
            if not waited:
                return
            waited[0].join(QUIET / 5)

    def _is_speaking(self, uid: str, began: float) -> bool:
        now = time.monotonic()
        return now - began < PATIENCE and now - max(began, self._heard.get(uid, 0.0)) < QUIET

    def _list_pods(self) -> list[Object]:
        found = next(watching.changes(self._client, *pods_of(self.job), self._left), [])
        with self._changed:
            self._pods |= {pod["metadata"]["uid"]: pod for pod in found}
        return list(found)

    def _has_ended(self, uid: str) -> bool:
        pod = self._pods.get(uid)
        return pod is None or pod["status"].get("phase") in ENDED

    def _watch_pods(self) -> None:
        for found in watching.changes(self._client, *pods_of(self.job), self._left):
            with self._changed:
                self._pods = {pod["metadata"]["uid"]: pod for pod in found}
                self._changed.notify_all()
            for pod in found:
                self._begin(pod)

    def _begin(self, pod: Object) -> None:
        """Start to read a pod whose container has started."""
        uid, name = pod["metadata"]["uid"], replica_name(pod)
        container = log_reader.container_of(pod, self._options.container)
        status = _status(pod, container)
        if not self._wants(name) or status is None or not _has_started(status):
            return
        with self._changed:
            if uid in self._seen:
                return
            self._seen.add(uid)
            is_full = sum(thread.is_alive() for thread in self._readers.values()) >= AT_ONCE
            if not is_full:
                reader = threading.Thread(target=self._guarded, args=(self._read, pod, name, container), daemon=True)
                self._readers[uid] = reader
                reader.start()
        if is_full:
            self._put(Note(f"{name} is not followed: {AT_ONCE} replicas are; choose with -i"))

    def _read(self, pod: Object, name: str, container: str) -> None:
        """Read a container to its end, and what replaces it in the same pod."""
        uid, position, lost_at = pod["metadata"]["uid"], Position(), 0.0
        restarts = int((_status(pod, container) or {}).get("restartCount", 0))
        params = self._options.params() | {"follow": "true"}
        while not self._over:
            try:
                self._pass_on(pod, name, container, position, params, lost_at)
                lost_at = 0.0
            except NotFoundError:
                return
            except InvalidError:  # not started yet
                time.sleep(PAUSE)
            except UnknownOutcomeError:
                lost_at = lost_at or time.monotonic()
                time.sleep(PAUSE)
            latest = self._pods.get(uid) if lost_at else self._settled(uid, container, restarts)
            if latest is None:
                return
            status = _status(latest, container) or {}
            params = {"follow": "true"} | ({"sinceTime": position.since} if position.is_begun else {})
            if int(status.get("restartCount", 0)) > restarts:
                self._drain(latest, name, container, position, previous=True)
                restarts, position, params = int(status["restartCount"]), Position(), {"follow": "true"}
            elif not lost_at and "terminated" in (status.get("state") or {}):
                self._drain(latest, name, container, position, previous=False)
                if latest["status"].get("phase") in ENDED:
                    return
                self._wait_for(partial(self._moved_on, uid, container, restarts))

    def _pass_on(
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
        for line in log_reader.read(self._client, pod, name, container, params):
            self._heard[pod["metadata"]["uid"]] = time.monotonic()
            is_new, lost = position.take(line)
            if lost > 0:
                self._put(Note(f"{lost:.0f} s of {name} are lost: the node rotated the file"))
            elif lost_at:
                self._say_back(lost_at)
            lost_at = 0.0
            if is_new:
                self._put(line)

    def _say_back(self, lost_at: float) -> None:
        """Say once for all replicas that the connection is back."""
        with self._changed:
            if lost_at <= self._back_at:
                return
            self._back_at = time.monotonic()
        self._put(Note(f"connection lost, back after {self._back_at - lost_at:.0f} s; no line is missing"))

    def _drain(self, pod: Object, name: str, container: str, position: Position, *, previous: bool) -> None:
        """Read what a break may have left at the end of a log."""
        if not position.is_begun:
            return
        part = LogOptions(previous=previous).params()
        try:
            self._pass_on(pod, name, container, position, part | {"sinceTime": position.since})
        except (NotFoundError, InvalidError):
            return  # it has been removed
        except UnknownOutcomeError as error:
            self._put(Note(f"the end of {name} may be missing: {error.message}"))

    def _settled(self, uid: str, container: str, restarts: int) -> Object | None:
        """Return the pod when its status says that the container has ended; its last state after some patience."""
        self._wait_for(lambda: self._moved_on(uid, container, restarts, ended=True), PATIENCE)
        return self._pods.get(uid)

    def _moved_on(self, uid: str, container: str, restarts: int, *, ended: bool = False) -> bool:
        pod = self._pods.get(uid)
        status = _status(pod, container) if pod is not None else None
        if pod is None or status is None or int(status.get("restartCount", 0)) > restarts:
            return True
        is_over = pod["status"].get("phase") in ENDED
        return is_over or (ended and "terminated" in (status.get("state") or {}))

    def _wait_for(self, predicate: Callable[[], bool], seconds: float | None = None) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._over or predicate(), seconds)


def _status(pod: Object, container: str) -> Mapping[str, Any] | None:
    statuses = [*(pod["status"].get("containerStatuses") or ()), *(pod["status"].get("initContainerStatuses") or ())]
    found: Mapping[str, Any] | None = next((one for one in statuses if one.get("name") == container), None)
    return found


def _has_started(status: Mapping[str, Any]) -> bool:
    """Return whether a container has a log."""
    states = {**(status.get("lastState") or {}), **(status.get("state") or {})}
    return "running" in states or "terminated" in states
