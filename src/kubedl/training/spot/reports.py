"""Asks training programs how far they are, beside the loop, and remembers the last answer of each job.

It has nothing in common with requests for checkpoints but the way to ask: a program that does not answer here must not
keep one of those waiting, so that turns and memory are separate.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from weakref import WeakValueDictionary

import msgspec
import structlog

from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError
from kubedl.kube.types.meta import Record
from kubedl.training.elastic.asking import SECONDS, RefusedError, address_of, read_state
from kubedl.training.elastic.checkpoint_token import token
from kubedl.training.plan import ProgressRequest
from kubedl.training.spot.progress import NOTHING, Heard, Report

AT_ONCE, OF_A_NAMESPACE = 32, 4  # programs
PAUSE = 10.0  # seconds between two questions to a job: the answer may be another one each time

log = structlog.get_logger()


class _State(Record, frozen=True):
    step: int = 0
    total: int = 0
    durable_step: int = 0


_STATE = msgspec.json.Decoder(_State)


class Reports(Protocol):
    """Asks, and remembers answers."""

    def heard(self, uid: str) -> Heard:
        """Return what the program of a job has said."""

    def ask(self, uid: str, request: ProgressRequest) -> None:
        """Ask the program of a job; the answer is there later."""

    def stop(self, uid: str) -> None:
        """End a question that is under way: the program is asked for something else, or not at all."""

    def forget(self, uid: str) -> None:
        """Forget a job."""


class NoReports:
    """Asks nobody."""

    def heard(self, uid: str) -> Heard:
        """Return nothing."""
        return NOTHING

    def ask(self, uid: str, request: ProgressRequest) -> None:
        """Do nothing."""

    def stop(self, uid: str) -> None:
        """Do nothing."""

    def forget(self, uid: str) -> None:
        """Do nothing."""


@dataclass
class _Memory:
    asked_at: float
    task: "asyncio.Task[None]"
    heard: Heard


class ProgressReports:
    """Asks each job once at a time. Addresses are read when they are needed: another pod may get one later."""

    def __init__(self, client: Client, key: bytes, clock: Callable[[], datetime]) -> None:
        self._client, self._key, self._clock = client, key, clock
        self._jobs: dict[str, _Memory] = {}
        self._room = asyncio.Semaphore(AT_ONCE)
        self._rooms = WeakValueDictionary[str, asyncio.Semaphore]()

    def heard(self, uid: str) -> Heard:
        """Return what the program of a job has said."""
        known = self._jobs.get(uid)
        return known.heard if known is not None else NOTHING

    def ask(self, uid: str, request: ProgressRequest) -> None:
        """Ask in a task of its own, unless the last question is still open, or was asked a moment ago."""
        loop, known = asyncio.get_running_loop(), self._jobs.get(uid)
        if known is not None and (not known.task.done() or loop.time() - known.asked_at < PAUSE):
            return
        before = known.heard if known is not None else NOTHING
        since = before.asked_since or self._clock()
        task = loop.create_task(self._ask(uid, request))
        self._jobs[uid] = _Memory(loop.time(), task, Heard(before.report, since))

    def stop(self, uid: str) -> None:
        """End a question that is under way: the program is asked for something else, or not at all."""
        known = self._jobs.get(uid)
        if known is not None:
            known.task.cancel()
            known.heard = Heard(known.heard.report)

    def forget(self, uid: str) -> None:
        """Forget a job; a question that is under way ends without an answer."""
        known = self._jobs.pop(uid, None)
        if known is not None:
            known.task.cancel()

    async def _ask(self, uid: str, request: ProgressRequest) -> None:
        try:
            async with self._room_of(request.pod.metadata.namespace), self._room:
                host, at = await address_of(self._client, request.pod), self._clock()
                async with asyncio.timeout(SECONDS):
                    state = await read_state(host, request.port, token(self._key, uid), _STATE)
        except (ApiError, OSError, RefusedError, TimeoutError) as error:
            log.debug("no answer to a question for progress", pod=request.pod.metadata.name, error=str(error))
            return
        known = self._jobs.get(uid)
        if known is not None:
            known.heard = Heard(Report(at, state.step, state.total, state.durable_step))

    def _room_of(self, namespace: str) -> asyncio.Semaphore:
        room = self._rooms.get(namespace)
        if room is None:
            room = self._rooms[namespace] = asyncio.Semaphore(OF_A_NAMESPACE)
        return room
