"""Asks training programs how far they are, beside the loop, and remembers the last answer of each job.

It has nothing in common with requests for checkpoints but the way to ask: a program that does not answer here must not
keep one of those waiting, so that turns and memory are separate.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Protocol

import msgspec
import structlog

from kubedl.kube.client import Client
from kubedl.kube.types.meta import Record
from kubedl.training.elastic.asking import Questions, read_state
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


class ProgressReports(Questions[Heard]):
    """Asks for progress."""

    def __init__(self, client: Client, key: bytes, clock: Callable[[], datetime]) -> None:
        told = partial(log.debug, "no answer to a question for progress")
        super().__init__(client, key, PAUSE, (AT_ONCE, OF_A_NAMESPACE), told)
        self._clock = clock

    def heard(self, uid: str) -> Heard:
        """Return what the program of a job has said."""
        known = self._jobs.get(uid)
        return known.answer if known is not None else NOTHING

    def ask(self, uid: str, request: ProgressRequest) -> None:
        """Ask how far the program is."""

        async def asked(host: str, secret: str) -> Heard:
            at = self._clock()
            state = await read_state(host, request.port, secret, _STATE)
            return Heard(Report(at, state.step, state.total, state.durable_step))

        before = self.heard(uid)
        self._begin(uid, request.pod, Heard(before.report, before.asked_since or self._clock()), asked)

    def stop(self, uid: str) -> None:
        """End a question that is under way: the program is asked for something else, or not at all."""
        known = self._jobs.get(uid)
        if known is not None:
            known.task.cancel()
            known.answer = Heard(known.answer.report)
