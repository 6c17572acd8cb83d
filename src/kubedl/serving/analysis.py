"""What is measured of a version on trial: its requests, its failures, its slowest hundredth.

Either a Prometheus is asked, or the gateway's own page is read twice and the difference taken. Addresses belong to
others and so do their answers: nothing that they say is repeated, nothing is followed, and not knowing is an answer,
which never lets a version pass.
"""

import asyncio
import math
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Protocol

import aiohttp
import msgspec

from kubedl.serving.histogram import Counted, quantile, read
from kubedl.serving.queries import TRAEFIK, Queries, Target
from kubedl.serving.verdict import WINDOW, Figures

PATIENCE = aiohttp.ClientTimeout(total=5.0)
LARGEST_ANSWER = 1 << 20  # bytes, of what is kept: numbers are short
LARGEST_PAGE = 64 << 20  # bytes that pass by: the page of a gateway with many services is large
LONGEST_LINE = 64 << 10
KEPT = 20  # looks at a page, of the last minutes
HISTOGRAM = "traefik_service_request_duration_seconds"


class UnmeasuredError(Exception):
    """Nothing is known of a version, and why."""


class Source(Protocol):
    """Who knows about requests."""

    async def figures(self, target: Target, since: datetime, now: datetime) -> Figures:
        """What was measured of a version since its step began; UnmeasuredError if nobody knows."""

    def forget(self, target: Target) -> None:
        """The version is not on trial any more."""


class Prometheus:
    """A Prometheus, or whatever answers its HTTP API."""

    def __init__(self, session: aiohttp.ClientSession, url: str, queries: Queries = TRAEFIK) -> None:
        self._session = session
        self._url = f"{url.rstrip('/')}/api/v1/query"
        self._queries = queries

    async def figures(self, target: Target, since: datetime, now: datetime) -> Figures:
        """Three queries at one moment about the step, and three about its last minutes."""
        if now - since <= WINDOW:
            return await self._since(target, since, now)
        whole, recent = await asyncio.gather(*(self._since(target, one, now) for one in (since, now - WINDOW)))
        return replace(whole, recent=recent)

    async def _since(self, target: Target, since: datetime, now: datetime) -> Figures:
        texts = self._queries.about(target, since, now)
        requests, errors, p99 = await asyncio.gather(*(self._number(text, now) for text in texts))
        total = round(requests or 0)
        return Figures(total, min(round(errors or 0), total), _time(p99))

    def forget(self, target: Target) -> None:
        """Nothing is remembered."""

    async def _number(self, query: str, now: datetime) -> float | None:
        params = {"query": query, "time": f"{now.timestamp():.3f}"}
        answer = bytearray()
        async with aclosing(_fetch(self._session, self._url, params, LARGEST_ANSWER)) as parts:
            async for part in parts:
                answer += part
        try:
            return _first(msgspec.json.decode(answer, type=_Answer))
        except (msgspec.DecodeError, ValueError, LookupError, TypeError) as error:
            raise UnmeasuredError("the answer of Prometheus is not a number") from error


class GatewayPage:
    """The page of metrics of a gateway: Traefik's.

    What stood there when a step was first looked at is remembered, and in the last minutes. An operator that has just
    started counts anew, from less, and so judges later, never sooner.
    """

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url
        self._begun: dict[Target, _Looks] = {}

    async def figures(self, target: Target, since: datetime, now: datetime) -> Figures:
        """The difference of what stands there now and what stood there then."""
        page = await self._lines(target.backend.encode())
        try:
            counted = read(page.decode(errors="replace"), HISTOGRAM, target.backend)
        except ValueError as error:
            raise UnmeasuredError("the gateway's page has no metrics in the Prometheus format") from error
        looks = self._begun.get(target)
        # Another step, or a gateway that has started anew.
        if looks is None or looks.since != since or counted.requests < looks.last.requests:
            looks = self._begun[target] = _Looks(since, now, counted)
        looks.add(now, counted)
        before = looks.before(now - WINDOW)
        return _figures(counted, looks.first, _figures(counted, before) if before is not None else None)

    def forget(self, target: Target) -> None:
        """What stood there is of no use to the next trial."""
        self._begun.pop(target, None)

    async def _lines(self, label: bytes) -> bytes:
        """The lines about one backend: most are somebody else's, and all together are too many to keep."""
        kept, rest = bytearray(), b""
        async with aclosing(_fetch(self._session, self._url, {}, LARGEST_PAGE)) as parts:
            async for part in parts:
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    if line.startswith(HISTOGRAM.encode()) and label in line:
                        kept += line + b"\n"
                if len(rest) > LONGEST_LINE or len(kept) > LARGEST_ANSWER:
                    raise UnmeasuredError("the gateway's page has no metrics in the Prometheus format")
        return bytes(kept)


class _Looks:
    """What stood on a page: when a step was first looked at, last, and now and then in the last minutes."""

    def __init__(self, since: datetime, now: datetime, counted: Counted) -> None:
        self.since = since
        self.first = self.last = counted
        self._kept = deque([(now, counted)])

    def add(self, now: datetime, counted: Counted) -> None:
        """One more look. Those that nobody needs any more are forgotten."""
        self.last = counted
        if now - self._kept[-1][0] >= WINDOW / KEPT:
            self._kept.append((now, counted))
        while len(self._kept) > 1 and self._kept[1][0] <= now - WINDOW:
            self._kept.popleft()

    def before(self, moment: datetime) -> Counted | None:
        """The last look up to a moment."""
        when, counted = self._kept[0]
        return counted if when <= moment else None


def _figures(now: Counted, before: Counted, recent: Figures | None = None) -> Figures:
    difference = now.minus(before)
    return Figures(difference.requests, difference.failures, _time(quantile(0.99, difference.buckets)), recent)


class _Data(msgspec.Struct, frozen=True):
    resultType: str = ""  # noqa: N815 - Prometheus's name
    result: list[Any] = []


class _Answer(msgspec.Struct, frozen=True):
    status: str
    data: _Data = _Data()


def _first(answer: _Answer) -> float | None:
    """The number of an instant vector of one, or of a scalar; None for nothing, or not a number."""
    if answer.status != "success" or answer.data.resultType not in ("vector", "scalar"):
        raise ValueError(answer.status)
    found = answer.data.result
    if answer.data.resultType == "vector":
        if len(found) > 1:
            raise ValueError("more than one")
        found = list(found[0]["value"]) if found else []
    if not found:
        return None
    number = float(found[1])
    return number if math.isfinite(number) and number >= 0 else None


def _time(seconds: float | None) -> timedelta | None:
    if seconds is None:
        return None
    return timedelta(seconds=seconds) if seconds < timedelta.max.total_seconds() else timedelta.max


async def _fetch(session: aiohttp.ClientSession, url: str, params: dict[str, str], most: int) -> AsyncGenerator[bytes]:
    """An answer as it comes in; at most so many bytes of it."""
    try:
        async with session.get(url, params=params, timeout=PATIENCE, allow_redirects=False) as answer:
            if answer.status != 200:
                raise UnmeasuredError(f"the request for metrics was answered with status {answer.status}")
            size = 0
            async for part in answer.content.iter_any():
                size += len(part)
                if size > most:
                    raise UnmeasuredError(f"the answer with metrics is larger than {most} bytes")
                yield part
    except (aiohttp.ClientError, TimeoutError, ValueError, OSError) as error:
        raise UnmeasuredError(f"the request for metrics failed ({type(error).__name__})") from error
