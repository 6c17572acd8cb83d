"""What the operator remembers of jobs that wait: what the kubelet's Events said, and when it last changed their text.

Only for jobs that wait, one pod of each at a time, more and more seldom, and a few in a second: a list of Events costs
the API server a read of all Events of the namespace. A new operator remembers nothing: one question and one write more.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kubedl.api.conditions import find
from kubedl.api.training import JobStatus
from kubedl.kube.client import Client
from kubedl.runtime.pod_events import last_event
from kubedl.training.diagnosis import Heard
from kubedl.training.policies.moment import later
from kubedl.training.waiting import NOTHING_SAID, PODS_READY, is_waiting
from kubedl.wire.core import Pod

FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=5)
MOST_PER_SECOND = 4
LONGEST_MESSAGE = 2048  # characters that are remembered


@dataclass
class _Memory:
    heard: Heard | None = None
    pause: timedelta = FIRST_PAUSE
    told_at: datetime | None = None


@dataclass
class Listening:
    """The memory, by the uid of the job."""

    _jobs: dict[str, _Memory] = field(default_factory=dict)
    _second: datetime | None = None
    _asked: int = 0

    def heard(self, job: str) -> Heard | None:
        """The last answer."""
        found = self._jobs.get(job)
        return found.heard if found is not None else None

    def told_at(self, job: str) -> datetime | None:
        """When the text of the condition last changed, as far as this process wrote it."""
        found = self._jobs.get(job)
        return found.told_at if found is not None else None

    async def ask(self, client: Client, job: str, pod: Pod, now: datetime) -> Heard:
        """Read the kubelet's Events about a pod; where that is too much for the server, the last answer stays."""
        memory = self._jobs.setdefault(job, _Memory())
        known = memory.heard if memory.heard is not None and memory.heard.pod == pod.metadata.uid else None
        if known is None:
            memory.pause = FIRST_PAUSE
        if not self._may_ask(now):
            memory.heard = _later(known or Heard(pod.metadata.uid, now), now, FIRST_PAUSE)
            return memory.heard
        event = await last_event(client, pod)
        again = later(now, memory.pause)
        memory.pause = min(2 * memory.pause, LONGEST_PAUSE)
        if event is None:
            memory.heard = Heard(pod.metadata.uid, again)
        else:
            message = event.message[:LONGEST_MESSAGE]
            memory.heard = Heard(pod.metadata.uid, again, event.reason, message, event.is_warning)
        return memory.heard

    def written(self, job: str, old: JobStatus, new: JobStatus, now: datetime) -> None:
        """Remember when the text changed; a job that does not wait is forgotten, and one that only starts not noted."""
        said = find(new.conditions, PODS_READY)
        if not is_waiting(new):
            self._jobs.pop(job, None)
        elif said != find(old.conditions, PODS_READY) and (new.reason != NOTHING_SAID or job in self._jobs):
            self._jobs.setdefault(job, _Memory()).told_at = now

    def forget(self, job: str) -> None:
        """The job is gone."""
        self._jobs.pop(job, None)

    def __len__(self) -> int:
        return len(self._jobs)

    def _may_ask(self, now: datetime) -> bool:
        if self._second != now:
            self._second, self._asked = now, 0
        self._asked += 1
        return self._asked <= MOST_PER_SECOND


def _later(heard: Heard, now: datetime, pause: timedelta) -> Heard:
    return Heard(heard.pod, later(now, pause), heard.reason, heard.message, heard.is_warning)
