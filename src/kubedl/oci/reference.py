"""Image references: registry host and repository, parsed as in `docker push`."""

import re
from dataclasses import dataclass

from kubedl.oci.errors import ImageError, quote_for_display
from kubedl.oci.name_patterns import HOST, REFERRERS, REPOSITORY, TAG

HUB = "docker.io"
_HUB_HOST = "registry-1.docker.io"


@dataclass(frozen=True)
class ImageReference:
    """A repository of a registry."""

    registry: str  # as users write it, and as the key of credentials
    host: str  # with its port, if any
    repository: str

    def __str__(self) -> str:
        return f"{self.registry}/{self.repository}"


def parse_reference(repository: str, tag: str) -> ImageReference:
    """Parse a repository. Without a host it is on Docker Hub, where a name of one part is an official image."""
    if not re.fullmatch(REPOSITORY, repository):
        raise _bad_repository(repository)
    first, slash, rest = repository.partition("/")
    named = bool(slash) and re.fullmatch(HOST, first)
    registry, path = (first, rest) if named else (HUB, repository if slash else f"library/{repository}")
    if registry == f"index.{HUB}":
        registry = HUB
    port = re.search(r":([0-9]+)$", registry)
    if len(path) > 255 or (port and int(port[1]) > 65535):
        raise _bad_repository(repository)
    if not re.fullmatch(TAG, tag) or re.match(REFERRERS, tag):
        raise _bad(f"{quote_for_display(tag)} is not a tag; use letters, digits, '.', '_' and '-', at most 128")
    return ImageReference(registry, _HUB_HOST if registry == HUB else registry, path)


def _bad_repository(repository: str) -> ImageError:
    return _bad(f"{quote_for_display(repository)} is not a repository; write it as registry.example.com/team/model")


def _bad(message: str) -> ImageError:
    return ImageError("BadOrder", message, permanent=True)
