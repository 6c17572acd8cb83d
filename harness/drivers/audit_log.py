"""What the API server itself recorded of somebody's writes: the judge that no operator's own count can replace.

Leases and reads are not recorded, by the test bed's policy, but for users whose rights are looked at (`rights.py`) and
for pods that ask with a token.
The log is rotated at 100 MB, so all its files are read.
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
    pod: str = ""  # that wrote, where a ServiceAccount's token was bound to one


@dataclass(frozen=True)
class Request:
    """Anything that was asked for, as a role would grant it."""

    user: str
    group: str
    resource: str  # with its subresource
    verb: str
    code: int
    groups: frozenset[str] = frozenset()  # of the user


class _Reference(msgspec.Struct, rename="camel"):
    resource: str = ""
    subresource: str = ""
    api_group: str = ""
    namespace: str = ""
    name: str = ""


class _Answer(msgspec.Struct):
    code: int = 0


class _User(msgspec.Struct):
    username: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class _Event(msgspec.Struct, rename="camel"):
    verb: str
    request_received_timestamp: datetime.datetime
    request_uri: str = msgspec.field(name="requestURI", default="")
    user: _User = msgspec.field(default_factory=_User)
    object_ref: _Reference = msgspec.field(default_factory=_Reference)
    response_status: _Answer = msgspec.field(default_factory=_Answer)


Moment = datetime.datetime
POD = "authentication.kubernetes.io/pod-name"
READS = frozenset({"get", "list", "watch"})

EVER = datetime.datetime.fromtimestamp(0, datetime.UTC)
LEASES = "leases"

_decode = msgspec.json.Decoder(_Event).decode


def now() -> datetime.datetime:
    """For `since`: what the API server receives from here on is later."""
    return datetime.datetime.now(datetime.UTC)


def writes(cluster: Cluster, user: str, since: datetime.datetime, *, leases: bool = False) -> list[Write]:
    """The writes of a user that the API server received since then, in the order in which it answered them.

    Those to Leases are signs of life; they are told if asked for.
    """
    found = (write for file in files(cluster, since) for write in read(file, user))
    return [write for write in found if write.at >= since and (leases or write.resource != LEASES)]


def requests(cluster: Cluster, *marks: str, since: datetime.datetime = EVER) -> set[Request]:
    """What was asked of this cluster, since then, by users whose name contains one of these."""
    wanted = [mark.encode() for mark in marks]
    found: set[Request] = set()
    for file in files(cluster, since):
        with file.open("rb") as lines:
            for line in lines:
                if any(mark in line for mark in wanted) and line.endswith(b"\n"):
                    event = _decode(line)
                    if event.request_received_timestamp >= since:
                        found.add(_request(event))
    return {one for one in found if one.resource and any(mark in one.user for mark in marks)}


def read(file: Path, user: str) -> Iterator[Write]:
    """The writes of a user in one file. Dry runs write nothing."""
    mark = f'"username":"{user}"'.encode()
    with file.open("rb") as lines:
        for line in lines:
            # Most lines are somebody else's; the last may still be in the writing.
            if mark in line and line.endswith(b"\n"):
                event = _decode(line)
                target = event.object_ref
                if "dryRun=" in event.request_uri or event.verb in READS:
                    continue  # a question
                resource = f"{target.resource}/{target.subresource}".rstrip("/")
                moment, code = event.request_received_timestamp, event.response_status.code
                [pod] = event.user.extra.get(POD, [""])
                yield Write(event.verb, resource, target.namespace, target.name, code, moment, pod)


def _request(event: _Event) -> Request:
    target = event.object_ref
    resource = f"{target.resource}/{target.subresource}".rstrip("/")
    groups = frozenset(event.user.groups)
    return Request(event.user.username, target.api_group, resource, event.verb, event.response_status.code, groups)


def files(cluster: Cluster, since: datetime.datetime) -> list[Path]:
    """With anything of that time; rotated ones first, which are named by their time."""
    log = cluster.audit_log
    rotated = sorted(log.parent.glob(f"{log.stem}-*{log.suffix}"))
    return [*(file for file in rotated if file.stat().st_mtime >= since.timestamp()), log]
