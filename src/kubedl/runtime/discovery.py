"""Detects which kinds the API server serves, with one request per group and version.

Kinds of other projects may be missing, and installed later. A reflector asks here first, so that its watch does not
fail.
"""

import asyncio
from typing import Any

from kubedl.kube import codec
from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError, NotFoundError
from kubedl.kube.types.meta import ObjectMeta, Record, Resource

FRESH = 5.0  # seconds; one response serves all kinds of the group


class _Page(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Named(Record, frozen=True):
    name: str


class _Resources(Record, frozen=True):
    resources: tuple[_Named, ...] | None = ()


# Used as a metric label only; discovery documents are not objects.
DISCOVERY = Resource(_Page, "Discovery", "discovery")


class Discovery:
    """Discovery client of one API server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asking = asyncio.Lock()
        self._served: dict[str, tuple[float, frozenset[str] | None]] = {}

    async def serves(self, resource: Resource[Any]) -> bool:
        """Return whether a kind is served. True if unknown: then the failing watch reports the reason."""
        return await self.served(resource) is not False

    async def served(self, resource: Resource[Any]) -> bool | None:
        """Return whether a kind is served; None if unknown."""
        version, now = resource.api_version, asyncio.get_running_loop().time()
        async with self._asking:
            at, found = self._served.get(version, (float("-inf"), None))
            if now - at > FRESH:
                found = await self._ask(version)
                self._served[version] = asyncio.get_running_loop().time(), found
        return resource.plural in found if found is not None else None

    async def _ask(self, version: str) -> frozenset[str] | None:
        path = f"/apis/{version}" if "/" in version else f"/api/{version}"
        try:
            answer = codec.decode(await self._client.call("get", DISCOVERY, path), _Resources)
        except NotFoundError:
            return frozenset()  # no such group and version
        except (ApiError, *codec.UNREADABLE):
            return None
        return frozenset(named.name for named in answer.resources or ())
