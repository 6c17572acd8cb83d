"""Runs the parts of an operator: caches always, controllers only while leading and only on full caches.

A standby keeps its caches filled, so that it can take over within moments.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

import structlog

from kubedl.kube.client import Client
from kubedl.kube.watch import SILENCE, Scope
from kubedl.runtime.controller import Controller
from kubedl.runtime.discovery import Discovery
from kubedl.runtime.reflector import EVERYTHING, Reflector
from kubedl.runtime.store import Index, Store
from kubedl.wire.meta import ObjectT, Resource

log = structlog.get_logger()

Lead = Callable[[], Awaitable[None]]


class Manager:
    """Put together once at start, then `run`."""

    def __init__(self, client: Client, *, silence: float = SILENCE) -> None:
        """A watch that says nothing for `silence` seconds counts as broken."""
        self.client = client
        self._discovery = Discovery(client)
        self._silence = silence
        self.reflectors: list[Reflector[Any]] = []
        self.controllers: list[Controller] = []
        self._needs: dict[Controller, tuple[Store[Any], ...]] = {}
        self._companions: list[Callable[[], Coroutine[Any, Any, None]]] = []

    def cache(
        self,
        resource: Resource[ObjectT],
        scope: Scope = EVERYTHING,
        indexes: Mapping[str, Index[ObjectT]] | None = None,
        remember: str | None = None,
    ) -> Store[ObjectT]:
        """A copy of these objects, kept level with the server while the manager runs."""
        store = Store(indexes, remember)
        discovery = self._discovery if resource.group else None  # every cluster has what is in the core group
        made = Reflector(self.client, resource, store, scope, silence=self._silence, discovery=discovery)
        self.reflectors.append(made)
        return store

    def add(self, controller: Controller, *needs: Store[Any]) -> None:
        """Run this controller while leading, from when these caches are filled."""
        self.controllers.append(controller)
        self._needs[controller] = needs

    def beside(self, companion: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run this all the time, leading or not."""
        self._companions.append(companion)

    def missing(self) -> list[str]:
        """The caches that are not filled yet. A kind that the cluster does not have is not waited for."""
        return [found.resource.name for found in self.reflectors if not found.synced.is_set() and not found.absent]

    async def run(self, elect: Callable[[Lead], Awaitable[None]]) -> None:
        """Run until cancelled; `elect` calls back when this process leads."""
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
