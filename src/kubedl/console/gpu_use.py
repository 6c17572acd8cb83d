"""How long GPUs that pods held were idle, by namespace: from the metrics of NVIDIA's DCGM exporter in a Prometheus.

A GPU is idle where its use was below five percent when it was looked at. What is not measured is not idle: the answer
says how much was measured. Prometheus is untrusted, as where canaries are judged.
"""

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import Any, NamedTuple, Protocol

import aiohttp
import msgspec

from kubedl.console.shared_answers import SharedAnswers
from kubedl.kube.tls import client_context
from kubedl.serving.rollout.prometheus import MetricsUnavailableError, fetch

BUSY_PERCENT = 5
SHORTEST_STEP = timedelta(minutes=5)  # between two looks
MOST_LOOKS = 2_000  # at each GPU
FRESH_SECONDS = 300.0
MOST_ASKED, MOST_KNOWN = 10, 50  # ranges: asked for at a time, and remembered
NOT_SET = "this console has no Prometheus to ask; an administrator names one with operator.prometheus of the chart"
TEAM = "kubedl_team"
# Prometheus keeps the namespace of a pod as exported_namespace if it gives its own labels precedence.
_USE = (
    f'label_replace(label_replace(DCGM_FI_DEV_GPU_UTIL, "{TEAM}", "$1", "namespace", "(.+)"), '
    f'"{TEAM}", "$1", "exported_namespace", "(.+)")'
)


class Use(NamedTuple):
    """GPU time of one namespace."""

    measured: int  # seconds of one GPU
    idle: int


Uses = Mapping[str, Use]


class UseSource(Protocol):
    """A source of how GPUs are used."""

    async def uses(self, began: datetime, ended: datetime) -> Uses:
        """Return the use by namespace; raises MetricsUnavailableError if there is none to be had."""


@dataclass(frozen=True)
class DcgmUse:
    """A Prometheus that scrapes the exporter."""

    session: aiohttp.ClientSession
    url: str

    async def uses(self, began: datetime, ended: datetime) -> Uses:
        """Ask two queries about the whole range."""
        length = max(ended - began, SHORTEST_STEP)
        step = max(SHORTEST_STEP, timedelta(minutes=math.ceil(length / MOST_LOOKS / timedelta(minutes=1))))
        looks = f"[{_seconds(length)}s:{_seconds(step)}s]"
        counted = await self._ask(f"sum by ({TEAM}) (count_over_time({_USE}{looks}))", ended)
        idle = await self._ask(f"sum by ({TEAM}) (sum_over_time(({_USE} < bool {BUSY_PERCENT}){looks}))", ended)
        return {
            team: Use(round(count * _seconds(step)), round(min(idle.get(team, 0.0), count) * _seconds(step)))
            for team, count in counted.items()
            if team
        }

    async def _ask(self, query: str, when: datetime) -> dict[str, float]:
        params = {"query": query, "time": f"{when.timestamp():.3f}"}
        answer = await fetch(self.session, f"{self.url.rstrip('/')}/api/v1/query", params)
        try:
            return dict(map(_sample, msgspec.json.decode(answer, type=_Answer).data.result))
        except (msgspec.DecodeError, ValueError, LookupError, TypeError) as error:
            raise MetricsUnavailableError("the response of Prometheus has no such figures") from error


@dataclass
class GpuUse:
    """The answers of a source, for all viewers; `problem` says why there is no source."""

    clock: Callable[[], float]
    source: UseSource | None = None
    problem: str = NOT_SET
    _answers: SharedAnswers[tuple[datetime, datetime], Uses] = field(init=False)

    def __post_init__(self) -> None:
        self._answers = SharedAnswers(
            self.clock, FRESH_SECONDS, MOST_ASKED, MOST_KNOWN, "too much is asked of Prometheus"
        )

    async def between(self, began: datetime, ended: datetime) -> Uses | str:
        """Return the use by namespace, or why it is not known."""
        if self.source is None:
            return self.problem
        try:
            return await self._answers.get((began, ended), partial(self.source.uses, began, ended))
        except MetricsUnavailableError as error:
            return str(error)


def nobody() -> GpuUse:
    """Return what has nobody to ask."""
    return GpuUse(monotonic)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[GpuUse]:
    """Yield what asks the Prometheus at an address; without one, what says so."""
    if not url:
        yield nobody()
        return
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=client_context())) as session:
        yield GpuUse(monotonic, DcgmUse(session, url), "")


class _Data(msgspec.Struct, frozen=True):
    result: list[Any] = []


class _Answer(msgspec.Struct, frozen=True):
    status: str
    data: _Data = _Data()


def _sample(one: Any) -> tuple[str, float]:  # noqa: ANN401 - whatever Prometheus sends
    number = float(one["value"][1])
    if not math.isfinite(number) or number < 0:
        raise ValueError("no count")
    return str(one["metric"].get(TEAM, "")), number


def _seconds(length: timedelta) -> int:
    return int(length.total_seconds())
