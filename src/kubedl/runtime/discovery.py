"""Which kinds the API server serves, asked for by group and version, once for all kinds of a group.

Kinds of other projects may be missing in a cluster, and installed later. Whoever follows one asks here first, instead
of having its watch refused.
"""

import asyncio
from typing import Any

from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError, NotFoundError
from kubedl.wire import codec
from kubedl.wire.meta import ObjectMeta, Record, Resource

FRESH = 5.0  # seconds for which an answer is good for the other kinds of its group


class _Page(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Named(Record, frozen=True):
    name: str


class _Resources(Record, frozen=True):
    resources: tuple[_Named, ...] | None = ()


# For the metrics only: pages of discovery are no objects.
DISCOVERY = Resource(_Page, "Discovery", "discovery")


class Discovery:
    """Asks one API server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asking = asyncio.Lock()
        self._served: dict[str, tuple[float, frozenset[str] | None]] = {}

    async def serves(self, resource: Resource[Any]) -> bool:
        """Whether a kind is served. Yes, if that is not to be known: a watch that is refused then says why."""
        version, now = resource.api_version, asyncio.get_running_loop().time()
        async with self._asking:
            at, found = self._served.get(version, (float("-inf"), None))
            if now - at > FRESH:
                found = await self._ask(version)
                self._served[version] = asyncio.get_running_loop().time(), found
        return found is None or resource.plural in found

    async def _ask(self, version: str) -> frozenset[str] | None:
        path = f"/apis/{version}" if "/" in version else f"/api/{version}"
        try:
            answer = codec.decode(await self._client.call("get", DISCOVERY, path), _Resources)
        except NotFoundError:
            return frozenset()  # nothing of that group and version
        except (ApiError, *codec.UNREADABLE):
            return None
        return frozenset(one.name for one in answer.resources or ())
