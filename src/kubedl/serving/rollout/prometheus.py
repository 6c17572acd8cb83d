"""Metrics of a canary from Prometheus: requests, failures, p99 latency.

Prometheus is untrusted: nothing in its responses is quoted in messages, redirects are not followed, and missing data
never promotes a canary.
"""

import asyncio
import math
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Protocol

import aiohttp
import msgspec

from kubedl.serving.rollout.analysis import WINDOW, Metrics
from kubedl.serving.rollout.promql import TRAEFIK, Queries, Target

PATIENCE = aiohttp.ClientTimeout(total=5.0)
LARGEST_ANSWER = 1 << 20  # bytes: numbers are short


class MetricsUnavailableError(Exception):
    """There are no metrics; the message says why."""


class MetricsSource(Protocol):
    """A source of metrics."""

    async def metrics(self, target: Target, since: datetime, now: datetime) -> Metrics:
        """Return the metrics of a canary since its step began; raises MetricsUnavailableError if there are none."""


class Prometheus:
    """Prometheus, or any server with its HTTP API."""

    def __init__(self, session: aiohttp.ClientSession, url: str, queries: Queries = TRAEFIK) -> None:
        self._session = session
        self._url = f"{url.rstrip('/')}/api/v1/query"
        self._queries = queries

    async def metrics(self, target: Target, since: datetime, now: datetime) -> Metrics:
        """Run three queries about the step, and three about its last minutes, at one point in time."""
        if now - since <= WINDOW:
            return await self._since(target, since, now)
        whole, recent = await asyncio.gather(*(self._since(target, moment, now) for moment in (since, now - WINDOW)))
        return replace(whole, recent=recent)

    async def _since(self, target: Target, since: datetime, now: datetime) -> Metrics:
        try:
            texts = self._queries.about(target, since, now)
        except ValueError as error:
            raise MetricsUnavailableError(str(error)) from error
        requests, errors, p99 = await asyncio.gather(*(self._number(text, now) for text in texts))
        total = round(requests or 0)
        return Metrics(total, min(round(errors or 0), total), _time(p99), counted=requests is not None)

    async def _number(self, query: str, now: datetime) -> float | None:
        params = {"query": query, "time": f"{now.timestamp():.3f}"}
        answer = await fetch(self._session, self._url, params)
        try:
            return _first(msgspec.json.decode(answer, type=_Answer))
        except (msgspec.DecodeError, ValueError, LookupError, TypeError) as error:
            raise MetricsUnavailableError("the response of Prometheus is not a number") from error


class _Data(msgspec.Struct, frozen=True):
    resultType: str = ""  # noqa: N815 - Prometheus's name
    result: list[Any] = []


class _Answer(msgspec.Struct, frozen=True):
    status: str
    data: _Data = _Data()


def _first(answer: _Answer) -> float | None:
    """Return the number of a scalar or an instant vector with one element; None for an empty one, or NaN."""
    if answer.status != "success" or answer.data.resultType not in ("vector", "scalar"):
        raise ValueError(answer.status)
    found = answer.data.result
    if answer.data.resultType == "vector":
        if len(found) > 1:
            raise ValueError("more than one element")
        found = list(found[0]["value"]) if found else []
    if not found:
        return None
    number = float(found[1])
    return number if math.isfinite(number) and number >= 0 else None


def _time(seconds: float | None) -> timedelta | None:
    if seconds is None:
        return None
    return timedelta(seconds=seconds) if seconds < timedelta.max.total_seconds() else timedelta.max


async def fetch(session: aiohttp.ClientSession, url: str, params: dict[str, str]) -> bytes:
    """Return the body of an answer; MetricsUnavailableError before more of it is kept than numbers need."""
    body = bytearray()
    try:
        async with session.get(url, params=params, timeout=PATIENCE, allow_redirects=False) as answer:
            if answer.status != 200:
                raise MetricsUnavailableError(f"the request for metrics was answered with status {answer.status}")
            async for part in answer.content.iter_any():
                body += part
                if len(body) > LARGEST_ANSWER:
                    raise MetricsUnavailableError(f"the answer with metrics is larger than {LARGEST_ANSWER} bytes")
    except (aiohttp.ClientError, TimeoutError, ValueError, OSError) as error:
        raise MetricsUnavailableError(f"Prometheus does not answer ({type(error).__name__})") from error
    return bytes(body)
