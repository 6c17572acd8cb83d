"""A model of a training program that can be asked for checkpoints, and of the operator's memory of what it said."""

from dataclasses import dataclass, field
from typing import Protocol

from kubedl.kube.types.core import PODS
from kubedl.training.plan import CheckpointRequest
from tests.unit.training.world_model import World


class Program(Protocol):
    """The process of rank 0, as an operator meets it."""

    def answer(self, request: CheckpointRequest) -> str | None:
        """Hear a request, and return what is confirmed; None if nobody answers."""


@dataclass
class ProgramModel:
    """The process of rank 0. A new pod is a new process, which knows nothing of what the last one was asked."""

    world: World
    silent: bool = False
    _process: str = ""  # the uid of its pod
    _asked: str = ""
    _confirmed: str = ""
    saved: list[str] = field(default_factory=list)  # one entry for each checkpoint

    def answer(self, request: CheckpointRequest) -> str | None:
        """Hear a request, and return what is confirmed; None if nobody answers. It saves between two requests."""
        known = self.world.job.status.elastic if self.world.job is not None else None
        number = int(request.id.rpartition("-")[2])
        assert known is None or number <= known.requests, "a request is sent that was never written"
        pod = self.world.api.find(PODS, request.pod.metadata.key)
        if self.silent or pod is None or pod.metadata.uid != request.pod.metadata.uid or pod.status.phase != "Running":
            return None
        if self._process != pod.metadata.uid:
            self._process, self._asked, self._confirmed = pod.metadata.uid, "", ""
        if self._asked == request.id and self._confirmed != request.id:
            self._confirmed = request.id
            self.saved.append(request.id)
        self._asked = request.id
        return self._confirmed


@dataclass
class AskerModel:
    """What one operator has heard. An answer is there when it looks again."""

    program: Program
    _heard: dict[str, str] = field(default_factory=dict)

    def confirmed(self, uid: str) -> str:
        return self._heard.get(uid, "")

    def ask(self, uid: str, request: CheckpointRequest) -> None:
        answer = self.program.answer(request)
        if answer is not None:
            self._heard[uid] = answer

    def forget(self, uid: str) -> None:
        self._heard.pop(uid, None)
