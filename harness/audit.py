"""What the API server itself recorded of somebody's writes: the judge that no operator's own count can replace.

Leases are not recorded, by the test bed's policy. The log is rotated at 100 MB, so all its files are read.
"""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from testbed.cluster import Cluster


@dataclass(frozen=True)
class Write:
    """One request that wrote, or tried to."""

    verb: str  # create, update, patch, delete, deletecollection
    resource: str  # with its subresource: "pods", "tfjobs/status"
    namespace: str
    name: str
    code: int
    at: datetime.datetime


class _Reference(msgspec.Struct):
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class _Answer(msgspec.Struct):
    code: int = 0


class _Event(msgspec.Struct, rename="camel"):
    verb: str
    request_received_timestamp: datetime.datetime
    object_ref: _Reference = msgspec.field(default_factory=_Reference)
    response_status: _Answer = msgspec.field(default_factory=_Answer)


Moment = datetime.datetime

_decode = msgspec.json.Decoder(_Event).decode


def now() -> datetime.datetime:
    """For `since`: what the API server receives from here on is later."""
    return datetime.datetime.now(datetime.UTC)


def writes(cluster: Cluster, user: str, since: datetime.datetime) -> list[Write]:
    """The writes of a user that the API server received since then, in the order in which it answered them."""
    log = cluster.audit_log
    files = sorted(log.parent.glob(f"{log.stem}-*{log.suffix}"))  # rotated ones, named by their time
    recent = [file for file in files if file.stat().st_mtime >= since.timestamp()]
    return [write for file in [*recent, log] for write in read(file, user) if write.at >= since]


def read(file: Path, user: str) -> Iterator[Write]:
    """The writes of a user in one file."""
    mark = f'"username":"{user}"'.encode()
    with file.open("rb") as lines:
        for line in lines:
            # Most lines are somebody else's; the last may still be in the writing.
            if mark in line and line.endswith(b"\n"):
                event = _decode(line)
                target = event.object_ref
                resource = f"{target.resource}/{target.subresource}".rstrip("/")
                moment, code = event.request_received_timestamp, event.response_status.code
                yield Write(event.verb, resource, target.namespace, target.name, code, moment)
