"""Who made an object, as far as it says so.

Kubernetes does not keep the user of a request. What is recorded here is written by the creator, or by anyone who may
edit the object, and is as trustworthy as they are, unless an admission policy compares it with the user of the request
(docs/how-to/keep-history.md has one). The program is the field manager of the oldest entry in managedFields, which
the client chooses.
"""

from typing import NamedTuple

import msgspec

from kubedl.history.observed import ManagedFields, RecordedMeta
from kubedl.history.sanitizing import text

USER = "kubedl.io/user"  # annotation, set by KubeDL's command line, or by an admission policy
TENANCY = "kubedl.io/tenancy"  # annotation of KubeDL 0.5: {"tenant": …, "user": …}
LONGEST_TENANCY = 4096
LONGEST_USER, LONGEST_CLIENT = 253, 128


class Creator(NamedTuple):
    """User, how the user is known (User or Tenancy, empty: unknown), and the program."""

    user: str = ""
    source: str = ""
    client: str = ""


class _Tenancy(msgspec.Struct, frozen=True):
    user: str = ""


def creator(metadata: RecordedMeta) -> Creator:
    """Return who made an object."""
    client = text(_client(metadata.managed_fields), LONGEST_CLIENT)
    if user := metadata.annotations.get(USER, ""):
        return Creator(text(user, LONGEST_USER), "User", client)
    if user := _tenant(metadata.annotations.get(TENANCY, "")):
        return Creator(text(user, LONGEST_USER), "Tenancy", client)
    return Creator(client=client)


def _client(entries: tuple[ManagedFields, ...]) -> str:
    """Return the oldest manager of the object itself; entries of status belong to controllers."""
    written = [entry for entry in entries if not entry.subresource and entry.time]
    oldest = min(written, key=lambda entry: entry.time, default=None)
    return oldest.manager if oldest is not None else ""


def _tenant(annotation: str) -> str:
    if not annotation or len(annotation) > LONGEST_TENANCY:
        return ""
    try:
        return msgspec.json.decode(annotation, type=_Tenancy).user
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
