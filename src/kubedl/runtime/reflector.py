"""Reflector: keeps a store in sync with the API server. It lists once, then watches.

After any failure (a broken connection, a silent watch, an expired resource version, a stale API server) the store
converges to the server's state, including deletions, and never goes back in time.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import Generic

import structlog

from kubedl.kube import watch
from kubedl.kube.client import Client
from kubedl.kube.errors import (
    ApiError,
    ForbiddenError,
    GoneError,
    InvalidError,
    NotFoundError,
    TooManyRequestsError,
    UnknownOutcomeError,
)
from kubedl.kube.types.meta import ObjectKey, ObjectT, Resource
from kubedl.kube.watch import ListOptions, WatchEvent
from kubedl.runtime.discovery import Discovery
from kubedl.runtime.store import Store

BEHIND = (
    60.0  # seconds; a server that stays behind its own earlier state for longer is not stale: its storage was restored
)
BETWEEN_LISTS = 10.0  # seconds; frequent lists would add load to a failing server
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
LONGEST_RETRY_AFTER = 60.0  # seconds; a load balancer may ask for an hour while the API server is being repaired
BUSY = 2.0  # seconds of pause, after four refusals: from then on a busy server is worth a warning
LOOK_AGAIN = 20.0  # seconds, plus up to as many more, until a missing kind is checked again
EVERYTHING = ListOptions()

log = structlog.get_logger()


class StaleResourceVersionError(Exception):
    """Resource versions went back, for example after etcd was restored: the in-memory state is invalid."""


class Reflector(Generic[ObjectT]):
    """Follows one resource in one scope into one store."""

    def __init__(
        self,
        client: Client,
        resource: Resource[ObjectT],
        store: Store[ObjectT],
        scope: ListOptions = EVERYTHING,
        *,
        silence: float = watch.SILENCE,
        discovery: Discovery | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.resource = resource
        self.store = store
        self.synced = asyncio.Event()
        self.absent = False  # the server does not serve this kind; it may be installed later
        self.refused = False  # the server does not let this client read it
        self._heard_at = float("-inf")
        self._client = client
        self._scope = scope
        self._silence = silence
        self._discovery = discovery
        self._jitter = jitter
        self._version: str | None = None
        self.patience = BEHIND
        self._behind_since: float | None = None  # since when the server has been behind its own earlier state
        self._watch_list = True
        self._listed_at = float("-inf")
        self._pause = FIRST_PAUSE

    @property
    def unread(self) -> bool:
        """Whether the store will be filled soon, and is not yet."""
        return not (self.synced.is_set() or self.absent or self.refused)

    def age(self) -> float:
        """Seconds since the server last sent data, or ended a watch as it should."""
        return self._now() - self._heard_at

    async def run(self) -> None:
        """Run until cancelled. Raises StaleResourceVersionError if only a restarted process can recover."""
        while True:
            await self._until_served()
            began, following = self._now(), self._version is not None
            try:
                await self._follow()
                if self._now() - began > 1:
                    self._heard_at = self._now()
                    continue  # the server closes watches every few minutes
                error: ApiError = UnknownOutcomeError(0, "", "the watch ended at once")
            except GoneError as gone:
                self._version = None
                if following:
                    log.info("resource version expired, listing again", resource=self.resource.name)
                    continue  # BETWEEN_LISTS is a sufficient delay
                error = gone
            except StaleResourceVersionError:
                raise
            except ApiError as failure:
                self._learn_from(failure, began if following else None)
                error = failure
            except Exception:  # a reflector must never die silently
                log.exception("reflector failed", resource=self.resource.name)
                self._version = None
                error = UnknownOutcomeError(0, "", "a bug")
            pause = max(self._pause * (1 + self._jitter()), min(error.retry_after or 0, LONGEST_RETRY_AFTER))
            # A server that has just got the definition of a kind answers 429 until its storage is ready.
            level = logging.INFO if isinstance(error, TooManyRequestsError) and self._pause < BUSY else logging.WARNING
            log.log(level, "watch failed", resource=self.resource.name, error=str(error), again_in=round(pause, 1))
            await asyncio.sleep(pause)
            self._pause = min(self._pause * 2, LONGEST_PAUSE)

    async def _until_served(self) -> None:
        """Wait for a kind that the cluster does not serve, without failing watches."""
        if self._discovery is None or self._version is not None:
            return
        logged = False
        while not await self._discovery.serves(self.resource):
            self.absent = True
            if not logged:
                log.info(
                    "the cluster does not serve this kind, checking again periodically", resource=self.resource.name
                )
            logged = True
            await asyncio.sleep(LOOK_AGAIN * (1 + self._jitter()))
        if logged:
            log.info("the cluster serves this kind now", resource=self.resource.name)

    def _learn_from(self, failure: ApiError, following_since: float | None) -> None:
        """Reset for a full list: the kind is missing, or the watch sent no data and its version may be lost."""
        self.refused = isinstance(failure, ForbiddenError)
        if isinstance(failure, NotFoundError):
            self.absent, self._version = True, None
        began = following_since
        if began is not None and self._heard_at < began and self._now() - began >= self._silence:
            self._version = None

    async def _follow(self) -> None:
        pending: dict[ObjectKey, WatchEvent[ObjectT]] | None = None
        if self._version is None:
            await self._take_turn()
            if self._watch_list:
                pending = {}
            else:
                await self._list()
        changes = watch.watch(self._client, self.resource, self._scope, self._version, self._silence)
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
            log.info("the server does not support WatchList, listing in pages", resource=self.resource.name)
            self._watch_list = False
            await self._follow()
            return
        if pending is not None:
            raise UnknownOutcomeError(0, "", "the watch ended before all initial objects were sent")

    async def _list(self) -> None:
        version, steps = await watch.list_all(self._client, self.resource, self._scope)
        self._replace(steps, version)

    async def _take_turn(self) -> None:
        wait = self._listed_at + BETWEEN_LISTS - self._now()
        if wait > 0:
            await asyncio.sleep(wait)

    def _replace(self, steps: Iterable[WatchEvent[ObjectT]], version: str) -> None:
        self._listed_at = self._now()
        if int(version) < self.store.version:
            self._version = None
            message = f"it is at {version}, the store is at {self.store.version}"
            if self._stays_behind():
                log.error(
                    "the server's state went back, as after a restore of etcd: exiting, to start again", state=message
                )
                raise StaleResourceVersionError(
                    f"{self.resource.name}: the server's state went back and stays there: {message}"
                )
            raise UnknownOutcomeError(0, "", f"the server is stale: {message}")
        present = (self._usable(step) for step in steps if step.type != "DELETED")
        self.store.replace(obj for obj in present if obj is not None)
        self._advance(version)
        self.absent = self.refused = False
        self.synced.set()

    def _apply(self, step: WatchEvent[ObjectT]) -> None:
        if int(step.metadata.resource_version) <= self.store.version and self._is_news(step):
            raise GoneError(0, "", "events arrived out of order")
        if int(step.metadata.resource_version) < self.store.version and self._stays_behind():
            raise GoneError(0, "", "the watch stays behind the version of the store")  # a list will tell why
        # A stale server must not set the store back.
        if int(step.metadata.resource_version) > self.store.version and step.type != "BOOKMARK":
            obj = self._usable(step)
            if obj is None or step.type == "DELETED":
                self.store.remove(step.metadata.key, obj)
            else:
                self.store.put(obj)
        self._advance(step.metadata.resource_version)

    def _is_news(self, step: WatchEvent[ObjectT]) -> bool:
        """Return whether an event that should be applied is missing from the store; then a list is needed."""
        if step.type == "BOOKMARK" or step.object is None:
            return False
        known = self.store.get(step.metadata.key)
        if known is None:
            return step.type != "DELETED"
        return int(known.metadata.resource_version) < int(step.metadata.resource_version)

    def _usable(self, step: WatchEvent[ObjectT]) -> ObjectT | None:
        if step.error:
            log.error("cannot decode object", resource=self.resource.name, key=str(step.metadata.key), error=step.error)
        return step.object

    def _advance(self, version: str) -> None:
        if int(version) >= self.store.version:
            self._behind_since = None
            self._version = version
            self.store.version = int(version)
        self._heard_at = self._now()
        self._pause = FIRST_PAUSE

    def _stays_behind(self) -> bool:
        """Record that the server is behind its earlier state; returns whether that has lasted too long."""
        if self._behind_since is None:
            self._behind_since = self._now()
        return self._now() - self._behind_since >= self.patience

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _collect(pending: dict[ObjectKey, WatchEvent[ObjectT]], step: WatchEvent[ObjectT]) -> None:
    # The initial events are mostly ADDED, but changes and deletions may arrive among them; the newest one wins.
    before = pending.get(step.metadata.key)
    if before is None or int(before.metadata.resource_version) < int(step.metadata.resource_version):
        pending[step.metadata.key] = step
