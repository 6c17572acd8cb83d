"""Where an image goes: a registry's host and a repository there, as `docker push` would read them."""

import re
from dataclasses import dataclass

from kubedl.models.packer.failure import PackingError, shown

HUB = "docker.io"
_HUB_HOST = "registry-1.docker.io"

_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_REPOSITORY = re.compile(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_REFERRERS = re.compile(r"sha256-[0-9a-f]{64}.*")  # what belongs to another image is found under such tags


@dataclass(frozen=True)
class Address:
    """A repository of a registry."""

    registry: str  # as people write it, and as credentials are kept for it
    host: str  # with a port, if it has one
    repository: str

    def __str__(self) -> str:
        return f"{self.registry}/{self.repository}"


def parse(repository: str, tag: str) -> Address:
    """Without a host it is Docker Hub, where a name of one part is an official image's."""
    first, slash, rest = repository.partition("/")
    named = bool(slash) and ("." in first or ":" in first or first == "localhost")
    registry, path = (first, rest) if named else (HUB, repository if slash else f"library/{repository}")
    if registry == f"index.{HUB}":
        registry = HUB
    if not _HOST.fullmatch(registry) or not _REPOSITORY.fullmatch(path) or len(path) > 255:
        raise _bad(f"{shown(repository)} is not a repository; write it as registry.example.com/team/model")
    if not _TAG.fullmatch(tag) or _REFERRERS.fullmatch(tag):
        raise _bad(f"{shown(tag)} is not a tag; use letters, digits, '.', '_' and '-', at most 128")
    return Address(registry, _HUB_HOST if registry == HUB else registry, path)


def _bad(message: str) -> PackingError:
    return PackingError("BadOrder", message, permanent=True)
