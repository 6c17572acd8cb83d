"""In-memory state about waiting jobs: the kubelet's Events, and when the waiting message last changed.

Only for waiting jobs, one pod of each at a time, with increasing delays and a global rate limit: a list of Events costs
the API server a read of all Events of the namespace. A restarted operator starts empty, which costs one more read and
one more write.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kubedl.api.conditions import find
from kubedl.api.training import JobStatus
from kubedl.kube.client import Client
from kubedl.kube.types.core import Pod
from kubedl.runtime.pod_events import last_event
from kubedl.training.pod_diagnostics import KubeletEvent
from kubedl.training.policies.safe_time import later
from kubedl.training.waiting import PODS_READY, WAITING_FOR_PODS, is_waiting

FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=3), timedelta(minutes=5)
QUICK = 5  # reads after which the delays double even without a warning: a busy kubelet warns late
MOST_PER_SECOND = 4
LONGEST_MESSAGE = 2048  # characters that are kept


@dataclass
class _Memory:
    heard: KubeletEvent | None = None
    pause: timedelta = FIRST_PAUSE
    asked: int = 0
    message_written_at: datetime | None = None


@dataclass
class WaitingMemory:
    """State by the uid of the job."""

    _jobs: dict[str, _Memory] = field(default_factory=dict)
    _second: datetime | None = None
    _asked: int = 0

    def kubelet_event(self, job: str) -> KubeletEvent | None:
        """Return the last result."""
        memory = self._jobs.get(job)
        return memory.heard if memory is not None else None

    def message_changed_at(self, job: str, now: datetime) -> datetime | None:
        """Return when this process last changed the message of the condition; None if the clock was set back since."""
        memory = self._jobs.get(job)
        at = memory.message_written_at if memory is not None else None
        return at if at is not None and at <= now else None

    async def ask(self, client: Client, job: str, pod: Pod, now: datetime) -> KubeletEvent:
        """Read the kubelet's Events about a pod; if the rate limit is exceeded, the last result is kept."""
        memory = self._jobs.setdefault(job, _Memory())
        known = memory.heard if memory.heard is not None and memory.heard.pod == pod.metadata.uid else None
        if known is None:
            memory.pause, memory.asked = FIRST_PAUSE, 0
        if not self._may_ask(now):
            memory.heard = _later(known or KubeletEvent(pod.metadata.uid, now), now, FIRST_PAUSE)
            return memory.heard
        event = await last_event(client, pod)
        again = later(now, memory.pause)
        memory.asked += 1
        if memory.asked >= QUICK or (event is not None and event.is_warning):
            memory.pause = min(2 * memory.pause, LONGEST_PAUSE)
        if event is None:
            memory.heard = KubeletEvent(pod.metadata.uid, again)
        else:
            message = event.message[:LONGEST_MESSAGE]
            memory.heard = KubeletEvent(pod.metadata.uid, again, event.reason, message, event.is_warning)
        return memory.heard

    def written(self, job: str, old: JobStatus, new: JobStatus, now: datetime) -> None:
        """Record when the message changed; jobs that do not wait are dropped, and starting ones are not recorded."""
        condition = find(new.conditions, PODS_READY)
        if not is_waiting(new):
            self._jobs.pop(job, None)
        elif condition != find(old.conditions, PODS_READY) and (new.reason != WAITING_FOR_PODS or job in self._jobs):
            self._jobs.setdefault(job, _Memory()).message_written_at = now

    def forget(self, job: str) -> None:
        """Drop a deleted job."""
        self._jobs.pop(job, None)

    def __len__(self) -> int:
        return len(self._jobs)

    def _may_ask(self, now: datetime) -> bool:
        if self._second != now:
            self._second, self._asked = now, 0
        self._asked += 1
        return self._asked <= MOST_PER_SECOND


def _later(heard: KubeletEvent, now: datetime, pause: timedelta) -> KubeletEvent:
    return KubeletEvent(heard.pod, later(now, pause), heard.reason, heard.message, heard.is_warning)
