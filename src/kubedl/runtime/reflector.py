"""Keeps a store level with the server: list once, then follow the watch, for ever.

Whatever happens on the way (a cut connection, silence, history that is no longer kept, a server that lags behind), the
store ends up equal to the server, deletions included, and never goes back in time.
"""

import asyncio
import random
from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import Generic

import structlog

from kubedl.kube import watch
from kubedl.kube.client import Client
from kubedl.kube.errors import ApiError, GoneError, InvalidError, NotFoundError, UnsureError
from kubedl.kube.watch import Scope, Step
from kubedl.runtime.discovery import Discovery
from kubedl.runtime.store import Store
from kubedl.wire.meta import Key, ObjectT, Resource

BEHIND = 60.0  # seconds; a server that stays behind what it has said lags no more: its storage was set back
BETWEEN_LISTS = 10.0  # seconds; a server in trouble is not helped by lists
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
LOOK_AGAIN = 20.0  # seconds, and up to as many more, until a kind that is not installed is looked for again
EVERYTHING = Scope()

log = structlog.get_logger()


class WentBackError(Exception):
    """The server's versions are smaller than they were, as after etcd was restored: what is in memory is not true."""


class Reflector(Generic[ObjectT]):
    """One kind of object, one scope, one store."""

    def __init__(
        self,
        client: Client,
        resource: Resource[ObjectT],
        store: Store[ObjectT],
        scope: Scope = EVERYTHING,
        *,
        silence: float = watch.SILENCE,
        discovery: Discovery | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.resource = resource
        self.store = store
        self.synced = asyncio.Event()
        self.absent = False  # the server does not know this kind; it may be installed later
        self._heard_at = float("-inf")
        self._client = client
        self._scope = scope
        self._silence = silence
        self._discovery = discovery
        self._jitter = jitter
        self._version: str | None = None
        self.patience = BEHIND
        self._behind_since: float | None = None  # since when the server says less than it has said before
        self._watch_list = True
        self._listed_at = float("-inf")
        self._pause = FIRST_PAUSE

    def age(self) -> float:
        """Seconds since the server last gave a sign of life."""
        return self._now() - self._heard_at

    async def run(self) -> None:
        """Follow until cancelled. Raises WentBackError when only a new process can know what is true."""
        while True:
            await self._until_served()
            began, following = self._now(), self._version is not None
            try:
                await self._follow()
                if self._now() - began > 1:
                    continue  # the server ended a watch as it does every few minutes
                error: ApiError = UnsureError(0, "", "the watch ended at once")
            except GoneError as gone:
                self._version = None
                if following:
                    log.info("history is gone, listing again", resource=self.resource.name)
                    continue  # BETWEEN_LISTS is pause enough
                error = gone
            except WentBackError:
                raise
            except ApiError as failure:
                self._learn_from(failure, began if following else None)
                error = failure
            except Exception:  # a reflector that dies silently is the worst that can happen
                log.exception("reflector failed", resource=self.resource.name)
                self._version = None
                error = UnsureError(0, "", "a bug")
            pause = max(self._pause * (1 + self._jitter()), error.retry_after or 0)
            log.warning("watch broken", resource=self.resource.name, error=str(error), again_in=round(pause, 1))
            await asyncio.sleep(pause)
            self._pause = min(self._pause * 2, LONGEST_PAUSE)

    async def _until_served(self) -> None:
        """Wait for a kind that the cluster does not have, without asking for its objects in vain."""
        if self._discovery is None or self._version is not None:
            return
        told = False
        while not await self._discovery.serves(self.resource):
            self.absent = True
            if not told:
                log.info("the cluster does not have this kind, looking again now and then", resource=self.resource.name)
            told = True
            await asyncio.sleep(LOOK_AGAIN * (1 + self._jitter()))
        if told:
            log.info("the cluster has this kind now", resource=self.resource.name)

    def _learn_from(self, failure: ApiError, following_since: float | None) -> None:
        """A kind that is not installed, or a watch that never said a word: it may be of a version that is lost."""
        if isinstance(failure, NotFoundError):
            self.absent, self._version = True, None
        began = following_since
        if began is not None and self._heard_at < began and self._now() - began >= self._silence:
            self._version = None

    async def _follow(self) -> None:
        pending: dict[Key, Step[ObjectT]] | None = None
        if self._version is None:
            await self._take_turn()
            if self._watch_list:
                pending = {}
            else:
                await self._list()
        changes = watch.changes(self._client, self.resource, self._scope, self._version, self._silence)
        try:
            async with aclosing(changes):
                async for steps in changes:
                    self._heard_at = self._now()
                    for step in steps:
                        if pending is None:
                            self._apply(step)
                        elif step.ends_initial_events:
                            self._replace(pending.values(), step.metadata.resource_version)
                            pending = None
                        else:
                            _collect(pending, step)
        except InvalidError:
            if pending is None:
                raise
            log.info("the server has no WatchList, listing in pages", resource=self.resource.name)
            self._watch_list = False
            await self._follow()
            return
        if pending is not None:
            raise UnsureError(0, "", "the watch ended before all that exists was sent")

    async def _list(self) -> None:
        version, steps = await watch.objects(self._client, self.resource, self._scope)
        self._replace(steps, version)

    async def _take_turn(self) -> None:
        wait = self._listed_at + BETWEEN_LISTS - self._now()
        if wait > 0:
            await asyncio.sleep(wait)

    def _replace(self, steps: Iterable[Step[ObjectT]], version: str) -> None:
        self._listed_at = self._now()
        if int(version) < self.store.version:
            self._version = None
            words = f"it is at {version}, we have seen {self.store.version}"
            if self._stays_behind():
                log.error("the server went back, as after a restore of etcd: ending, to start anew", state=words)
                raise WentBackError(f"{self.resource.name}: the server went back and stays there: {words}")
            raise UnsureError(0, "", f"the server lags behind: {words}")
        present = (self._usable(step) for step in steps if step.type != "DELETED")
        self.store.replace(found for found in present if found is not None)
        self._advance(version)
        self.absent = False
        self.synced.set()

    def _apply(self, step: Step[ObjectT]) -> None:
        if int(step.metadata.resource_version) <= self.store.version and self._is_news(step):
            raise GoneError(0, "", "events came in another order than they happened")
        if int(step.metadata.resource_version) < self.store.version and self._stays_behind():
            raise GoneError(0, "", "the watch stays behind what was seen before")  # a list will tell why
        # A store that is ahead must not be set back by a server that lags behind.
        if int(step.metadata.resource_version) > self.store.version and step.type != "BOOKMARK":
            found = self._usable(step)
            if found is None or step.type == "DELETED":
                self.store.remove(step.metadata.key, found)
            else:
                self.store.put(found)
        self._advance(step.metadata.resource_version)

    def _is_news(self, step: Step[ObjectT]) -> bool:
        """Whether something that we thought to have passed is not in the store; only a list can tell what is true."""
        if step.type == "BOOKMARK" or step.object is None:
            return False
        known = self.store.get(step.metadata.key)
        if known is None:
            return step.type != "DELETED"
        return int(known.metadata.resource_version) < int(step.metadata.resource_version)

    def _usable(self, step: Step[ObjectT]) -> ObjectT | None:
        if step.error:
            log.error("cannot read object", resource=self.resource.name, key=str(step.metadata.key), error=step.error)
        return step.object

    def _advance(self, version: str) -> None:
        if int(version) >= self.store.version:
            self._behind_since = None
            self._version = version
            self.store.version = int(version)
        self._heard_at = self._now()
        self._pause = FIRST_PAUSE

    def _stays_behind(self) -> bool:
        """The server has said less than before; whether it has done so for too long."""
        if self._behind_since is None:
            self._behind_since = self._now()
        return self._now() - self._behind_since >= self.patience

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _collect(pending: dict[Key, Step[ObjectT]], step: Step[ObjectT]) -> None:
    # The start is mostly ADDED, but what changes or goes meanwhile arrives before its end too; the newest word counts.
    before = pending.get(step.metadata.key)
    if before is None or int(before.metadata.resource_version) < int(step.metadata.resource_version):
        pending[step.metadata.key] = step
