"""A program that trains, and what an operator hears of its progress."""

from dataclasses import dataclass, field

from kubedl.training.plan import CheckpointRequest, ProgressRequest
from kubedl.training.spot.progress import Heard, Report
from tests.unit.training.api_model import ApiModel


@dataclass
class Program:
    """What trains, in seconds of work at full size. Whoever comes or goes sends it back to its last checkpoint."""

    work: int = 0
    done: float = 0.0
    durable: float = 0.0
    speed: float = 1.0
    silent: bool = False  # says nothing of its progress
    deaf: bool = False  # saves for nobody
    confirmed: str = ""
    members: frozenset[str] = frozenset()
    saved: int = 0

    def advance(self, seconds: float, members: frozenset[str], *, trains: bool, size: int) -> None:
        if members != self.members:
            self.members, self.done = members, self.durable
        if trains:
            self.done = min(self.done + seconds * self.speed * len(members) / size, float(self.work or 10**9))

    def answer(self, request: CheckpointRequest) -> str | None:
        if self.deaf or request.pod.metadata.uid not in self.members:
            return None
        if request.id != self.confirmed:
            self.confirmed, self.durable, self.saved = request.id, self.done, self.saved + 1
        return self.confirmed


@dataclass
class ReportsModel:
    """What one operator has heard of progress."""

    program: Program
    api: ApiModel
    _heard: dict[str, Heard] = field(default_factory=dict)

    def heard(self, uid: str) -> Heard:
        return self._heard.get(uid, Heard())

    def ask(self, uid: str, request: ProgressRequest) -> None:
        program, now, before = self.program, self.api.now, self.heard(uid)
        if program.silent or request.pod.metadata.uid not in program.members:
            self._heard[uid] = Heard(before.report, before.asked_since or now)
        else:
            self._heard[uid] = Heard(Report(now, int(program.done), program.work, int(program.durable)))

    def stop(self, uid: str) -> None:
        self._heard[uid] = Heard(self.heard(uid).report)

    def forget(self, uid: str) -> None:
        self._heard.pop(uid, None)
