"""A sink that sends every observation as a log record to an OpenTelemetry collector: OTLP over HTTP, encoded as JSON.

Records may repeat: those with the same `log.record.uid` are one. A request has a bounded size. Only what the receiver
calls invalid is dropped (`RejectedError`); a receiver that is down, busy, or does not know us yet is asked again.
"""

import asyncio
import gzip
import os
import ssl
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import aiohttp
import msgspec
import structlog

from kubedl.history.observation import MISSED, Change, Closing
from kubedl.history.sink import Epoch, RejectedError, SinkUnavailableError
from kubedl.kube import codec
from kubedl.kube.tls import client_context

NAME = "otlp"
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"  # the names of OpenTelemetry's own exporters
CERTIFICATE = "OTEL_EXPORTER_OTLP_CERTIFICATE"
PATH = "/v1/logs"
PATIENCE = aiohttp.ClientTimeout(total=30.0, connect=10.0)
MOST_BYTES = 4 << 20  # of the records of one request, uncompressed; a collector accepts 20 MiB
LONGEST_ANSWER = 4096
DEEPEST = 32  # levels of a body; what is deeper is left out
INVALID = frozenset({400, 413})  # statuses that are about the records
INFO, WARN, ERROR = (9, "INFO"), (13, "WARN"), (17, "ERROR")

log = structlog.get_logger()


class OtlpError(Exception):
    """The address of the collector, its headers or its CA certificate are invalid."""


class OtlpLogs:
    """Posts to `<endpoint>/v1/logs`."""

    name = NAME

    def __init__(self, cluster: str, endpoint: str, environment: Mapping[str, str] = os.environ) -> None:
        address = urlsplit(endpoint)
        if address.scheme not in ("http", "https") or not address.hostname or address.username or address.query:
            raise OtlpError(
                "otlp: give the address of a collector without credentials, as in otlp:http://collector:4318"
            )
        self._url = endpoint.rstrip("/").removesuffix(PATH) + PATH
        self._headers = {**_headers(environment.get(HEADERS, "")), "Content-Type": "application/json"}
        self._tls = _context(environment.get(CERTIFICATE, "")) if address.scheme == "https" else None
        self._resource = {"attributes": attributes({"service.name": "kubedl-recorder", "k8s.cluster.name": cluster})}
        self._session: aiohttp.ClientSession | None = None

    async def claim(self, epoch: Epoch) -> None:
        """Nothing to claim: several writers of a log do no harm."""

    async def write(self, batch: Sequence[Change]) -> None:
        """Send a batch, in as many requests as its size needs."""
        records = [codec.encode(record(change)) for change in batch]
        for part in _parts(records):
            await self._send(await asyncio.to_thread(self._request, part))

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()

    def _request(self, records: Sequence[bytes]) -> bytes:
        scope = {"scope": {"name": "kubedl.history"}, "logRecords": [msgspec.Raw(one) for one in records]}
        document = {"resourceLogs": [{"resource": self._resource, "scopeLogs": [scope]}]}
        return gzip.compress(codec.encode(document), compresslevel=1, mtime=0)

    async def _send(self, body: bytes) -> None:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=PATIENCE, trust_env=True)
        headers = {**self._headers, "Content-Encoding": "gzip"}
        try:
            async with self._session.post(
                self._url, data=body, headers=headers, ssl=self._tls or True, allow_redirects=False
            ) as response:
                answer = await response.content.read(LONGEST_ANSWER)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise SinkUnavailableError(f"{type(error).__name__}: {error}") from error
        if response.status in INVALID:
            raise RejectedError(f"{response.status}: {_message(answer)}")
        if response.status // 100 != 2:
            raise SinkUnavailableError(f"the collector answers {response.status}: {_message(answer)}")
        _tell_partial_success(answer)


def record(change: Change) -> dict[str, Any]:
    """Return the log record of an observation, as opentelemetry-proto maps it to JSON."""
    values = _values(change)
    moment = values.get("recorded") or values.get("deleted") or change.created
    number, text = _severity(change.table, values)
    return {
        "timeUnixNano": _nanoseconds(moment),
        "observedTimeUnixNano": _nanoseconds(moment),
        "severityNumber": number,
        "severityText": text,
        "eventName": f"kubedl.history.{change.table}",
        "body": value(values),
        "attributes": attributes(
            {
                "log.record.uid": _identity(change, values),
                "kubedl.table": change.table,
                "kubedl.uid": change.uid,
                **{name: values[column] for name, column in _NAMES.items() if values.get(column)},
            }
        ),
    }


def attributes(pairs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return key-value pairs."""
    return [{"key": key, "value": value(content)} for key, content in pairs.items()]


def value(content: Any, depth: int = 0) -> dict[str, Any]:  # noqa: ANN401, PLR0911 - any JSON
    """Return an AnyValue. Integers of 64 bits are texts in the JSON of protobuf."""
    if content is None:
        return {}
    if isinstance(content, bool):
        return {"boolValue": content}
    if isinstance(content, int):
        return {"intValue": str(content)}
    if isinstance(content, float):
        return {"doubleValue": content}
    if isinstance(content, datetime):
        return {"stringValue": content.astimezone(UTC).isoformat()}
    if depth == DEEPEST and isinstance(content, Mapping | list | tuple):
        return {"stringValue": "nested too deep"}
    if isinstance(content, Mapping):
        pairs = [{"key": str(key), "value": value(part, depth + 1)} for key, part in content.items()]
        return {"kvlistValue": {"values": pairs}}
    if isinstance(content, list | tuple):
        return {"arrayValue": {"values": [value(part, depth + 1) for part in content]}}
    return {"stringValue": str(content)}


_NAMES = {  # of attributes, by OpenTelemetry's conventions where there are some
    "k8s.namespace.name": "namespace",
    "kubedl.kind": "kind",
    "kubedl.name": "name",
    "kubedl.state": "state",
    "enduser.id": "user_name",
}


def _values(change: Change) -> dict[str, Any]:
    if isinstance(change, Closing):
        return {"created": change.created, "deleted": change.noticed, "deletion": MISSED}
    body = {"body": change.body} if change.body is not None else {}
    return {"created": change.created, "resource_version": change.version, **change.values, **body}


def _identity(change: Change, values: Mapping[str, Any]) -> str:
    """Return what is the same in repeated records of one state; a deletion may have the version of the state before."""
    version = values.get("resource_version", "")
    return f"{change.table}/{change.uid}/{version}/{values.get('deletion', '')}"


def _severity(table: str, values: Mapping[str, Any]) -> tuple[int, str]:
    if table == "events":
        return WARN if values.get("type") == "Warning" else INFO
    if "Failed" in (values.get("state"), values.get("phase")):
        return ERROR
    return INFO


def _nanoseconds(moment: datetime) -> str:
    return str(int(moment.timestamp() * 1_000_000) * 1000)


def _parts(records: Sequence[bytes]) -> Iterable[list[bytes]]:
    part: list[bytes] = []
    size = 0
    for one in records:
        if part and size + len(one) > MOST_BYTES:
            yield part
            part, size = [], 0
        part.append(one)
        size += len(one)
    if part:
        yield part


def _headers(text: str) -> dict[str, str]:
    """Return headers from `name=value,name=value`, percent-encoded."""
    found = {}
    for pair in filter(None, text.split(",")):
        name, equals, content = pair.partition("=")
        known = unquote(content.strip())
        if not equals or not name.strip() or not known.isprintable():
            raise OtlpError(f"{HEADERS}: each header is name=value, with commas between them")
        found[name.strip()] = known
    return found


def _context(file: str) -> ssl.SSLContext:
    try:
        return client_context(Path(file).read_text() if file else None)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise OtlpError(f"{CERTIFICATE}: {file}: {error}") from error


def _message(answer: bytes) -> str:
    return answer.decode(errors="replace").strip()[:300]


def _tell_partial_success(answer: bytes) -> None:
    """Log how many records the collector did not take; it says that asking again is of no use."""
    try:
        partial = codec.decode(answer, dict[str, Any]).get("partialSuccess") or {}
        rejected = int(partial.get("rejectedLogRecords") or 0)
    except (*codec.UNREADABLE, AttributeError, TypeError, ValueError):
        return
    if rejected:
        log.warning("the collector rejects records", number=rejected, error=str(partial.get("errorMessage"))[:300])
