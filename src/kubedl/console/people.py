"""Who calls, and how requests are sent in their name."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from kubedl.kube.bounded_regex import BoundedPattern
from kubedl.kube.credentials import Credentials

# What may stand in a bearer token (RFC 6750). Anything else could add a line to a request's head.
_TOKEN = BoundedPattern(r"[A-Za-z0-9\-._~+/]+=*", 16_384)


@dataclass(frozen=True)
class Person:
    """Somebody whom the API server knows."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(
        cls, name: str, uid: str = "", groups: tuple[str, ...] = (), extra: Mapping[str, tuple[str, ...]] | None = None
    ) -> "Person":
        """Return the person that a review names."""
        return cls(name, uid, groups, tuple(sorted((extra or {}).items())))


@dataclass(frozen=True)
class Caller:
    """A person, with what proves it to the API server. Never printed, so that no log has a token."""

    person: Person
    credentials: Credentials = field(repr=False)


def is_token(text: str) -> bool:
    """Return whether a text can be a bearer token."""
    return _TOKEN.fullmatch(text) is not None


def fingerprint(token: str) -> bytes:
    """Return what a token is remembered by; the token itself is not kept."""
    return hashlib.sha256(token.encode()).digest()
