"""Runs the parts of an operator: informers always, controllers only while leader and after the caches have synced.

A standby keeps its caches synced, so that it can take over within moments.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

import structlog

from kubedl.kube.client import Client
from kubedl.kube.types.meta import ObjectT, Resource
from kubedl.kube.watch import SILENCE, ListOptions
from kubedl.runtime.controller import Controller
from kubedl.runtime.discovery import Discovery
from kubedl.runtime.reflector import EVERYTHING, Reflector
from kubedl.runtime.store import Index, Store

log = structlog.get_logger()

Lead = Callable[[], Awaitable[None]]


class Manager:
    """Assemble once at start, then call `run`."""

    def __init__(self, client: Client, *, silence: float = SILENCE) -> None:
        """A watch without data for `silence` seconds is reconnected."""
        self.client = client
        self._discovery = Discovery(client)
        self._silence = silence
        self.reflectors: list[Reflector[Any]] = []
        self.controllers: list[Controller] = []
        self._needs: dict[Controller, tuple[Store[Any], ...]] = {}
        self._companions: list[Callable[[], Coroutine[Any, Any, None]]] = []

    def informer(
        self,
        resource: Resource[ObjectT],
        scope: ListOptions = EVERYTHING,
        indexes: Mapping[str, Index[ObjectT]] | None = None,
        remember: str | None = None,
    ) -> Reflector[ObjectT]:
        """Return an informer whose cache, `store`, is kept in sync while the manager runs.

        Unlike the store, it knows whether the cluster serves the kind at all.
        """
        discovery = self._discovery if resource.group else None  # the core group always exists
        store = Store(indexes, remember)
        reflector = Reflector(self.client, resource, store, scope, silence=self._silence, discovery=discovery)
        self.reflectors.append(reflector)
        return reflector

    def add(self, controller: Controller, *needs: Store[Any]) -> None:
        """Run this controller while leader, after these caches have synced."""
        self.controllers.append(controller)
        self._needs[controller] = needs

    def add_runnable(self, companion: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run this always, leader or not."""
        self._companions.append(companion)

    def unsynced(self) -> list[str]:
        """Return the caches that have not synced. Kinds that the cluster does not serve are skipped."""
        return [
            reflector.resource.name
            for reflector in self.reflectors
            if not reflector.synced.is_set() and not reflector.absent
        ]

    async def run(self, elect: Callable[[Lead], Awaitable[None]]) -> None:
        """Run until cancelled; `elect` calls back when this process becomes leader."""
        async with asyncio.TaskGroup() as group:
            for reflector in self.reflectors:
                group.create_task(reflector.run(), name=f"reflector {reflector.resource.name}")
            for companion in self._companions:
                group.create_task(companion())
            await elect(self._lead)

    async def _lead(self) -> None:
        log.info("leading")
        async with asyncio.TaskGroup() as group:
            for controller in self.controllers:
                group.create_task(self._control(controller), name=f"controller {controller.name}")

    async def _control(self, controller: Controller) -> None:
        for reflector in self.reflectors:
            if reflector.store in self._needs[controller]:
                await reflector.synced.wait()
        log.info("controlling", controller=controller.name)
        await controller.run()
