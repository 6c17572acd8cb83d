"""Where an image goes: a registry's host and a repository there, as `docker push` would read them."""

import re
from dataclasses import dataclass

from kubedl.api.image_names import HOST, REFERRERS, REPOSITORY, TAG
from kubedl.models.packer.failure import PackingError, shown

HUB = "docker.io"
_HUB_HOST = "registry-1.docker.io"


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
    if not re.fullmatch(REPOSITORY, repository):
        raise _bad_repository(repository)
    first, slash, rest = repository.partition("/")
    named = bool(slash) and re.fullmatch(HOST, first)
    registry, path = (first, rest) if named else (HUB, repository if slash else f"library/{repository}")
    if registry == f"index.{HUB}":
        registry = HUB
    if len(path) > 255:
        raise _bad_repository(repository)
    if not re.fullmatch(TAG, tag) or re.match(REFERRERS, tag):
        raise _bad(f"{shown(tag)} is not a tag; use letters, digits, '.', '_' and '-', at most 128")
    return Address(registry, _HUB_HOST if registry == HUB else registry, path)


def _bad_repository(repository: str) -> PackingError:
    return _bad(f"{shown(repository)} is not a repository; write it as registry.example.com/team/model")


def _bad(message: str) -> PackingError:
    return PackingError("BadOrder", message, permanent=True)
