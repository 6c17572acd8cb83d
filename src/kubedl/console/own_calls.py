"""Requests of one person: the operations of the client, sent with that person's own token and nothing else."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from kubedl.client.loop_calls import LoopWaiting
from kubedl.console.object_kinds import ShownModel
from kubedl.kube.client import Body, Client
from kubedl.kube.credentials import Credentials
from kubedl.kube.kubeconfig import Access, Entry
from kubedl.kube.sync_client import ANY, JSON, NO_PARAMS, SyncClient
from kubedl.kube.sync_credentials import Overrides, SyncCredentials
from kubedl.kube.types.meta import Resource

AGENT = "kubedl-console"  # the API server takes it for the name of the field manager
SOCKETS = 4
_VERBS = {"GET": "get", "POST": "create", "PATCH": "patch", "DELETE": "delete"}
_OBJECTS = Resource(ShownModel, "Object", "objects")  # what errors of the connection call whatever was asked for


class OwnCalls(LoopWaiting):
    """The calls of operations in the console's event loop, as the owner of some credentials."""

    def __init__(self, credentials: Credentials) -> None:
        self._client = Client(credentials, agent=AGENT, sockets=SOCKETS)
        nobody = Entry({}, Path())
        self._place = SyncCredentials(Access(credentials.server, credentials.namespace, nobody, nobody), Overrides())

    @property
    def credentials(self) -> SyncCredentials:
        """Return where the server is; who calls is known to `call` alone."""
        return self._place

    @property
    def sync(self) -> SyncClient:
        """Refuse: what runs in threads has no token here."""
        raise NotImplementedError("the console runs no operations in threads")

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] = NO_PARAMS,
        body: object = None,
        accept: str = JSON,
        content: str = JSON,
    ) -> bytes:
        """Send a request and return the body of a successful response; raises ApiError otherwise."""
        sent = cast("Body | None", body)
        return await self._client.call(_VERBS[method], _OBJECTS, path, params=params, body=sent, content=content)

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], silence: float | None, accept: str = ANY
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Refuse: the console follows objects in its cache, and logs by `live_log`."""
        raise NotImplementedError("the console follows nothing by operations")
        yield  # a generator, as the protocol wants

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
