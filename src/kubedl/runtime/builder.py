"""Builds a controller from the kinds that it reconciles, owns and watches.

    jobs, pods = manager.informer(JOBS), manager.informer(PODS)
    builder = ControllerBuilder(manager, metrics, "Job").for_(jobs).owns(pods)
    builder.complete(JobReconciler(jobs.store, builder.writer).reconcile, workers=8)

After a write of a kind given to `for_` or `owns`, through `writer` or recorded in `expectations`, a key is not
reconciled again until the cache shows it. The controller starts when its caches have synced, except those of `optional`
kinds, which the cluster may not serve.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from kubedl.kube.types.meta import Object, ObjectKey, ObjectT, Resource
from kubedl.runtime.controller import Controller, Reconcile
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.manager import Manager
from kubedl.runtime.metrics import Metrics
from kubedl.runtime.ownership import KeysOf, controllers_of
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.writer import Writer

if TYPE_CHECKING:
    from kubedl.runtime.store import Store


class ControllerBuilder:
    """Builds one controller."""

    def __init__(self, manager: Manager, metrics: Metrics, name: str = "") -> None:
        """The name appears in logs and metrics; by default it is the kind that the controller reconciles."""
        self._manager = manager
        self._metrics = metrics
        self._name = name
        self._kind = ""
        self._written: dict[Resource[Any], Store[Any]] = {}
        self._watched: list[tuple[Store[Any], KeysOf[Any], str]] = []
        self._needed: list[Store[Any]] = []
        self.expectations = Expectations(self._written)
        self.writer = Writer(manager.client, self.expectations)

    def for_(self, informer: Reflector[ObjectT], keys: KeysOf[ObjectT] | None = None) -> Self:
        """Reconcile these objects: all, or those for which `keys` returns a key."""
        self._kind = informer.resource.kind
        self._written[informer.resource] = informer.store
        return self.watches(informer, keys or own_key)

    def owns(
        self, *informers: Reflector[Any], keys: KeysOf[Any] | None = None, optional: bool = False, owner: str = ""
    ) -> Self:
        """Reconcile the controller of these objects, from the owner reference unless `keys` is given."""
        if not self._kind:
            raise ValueError("owns() must be called after for_(), which sets the kind of the owner")
        for informer in informers:
            self._written[informer.resource] = informer.store
            if keys is None:
                self.watches(informer, controllers_of(self._kind), optional=optional, owner=self._kind)
            else:
                self.watches(informer, keys, optional=optional, owner=owner)
        return self

    def watches(
        self, informer: Reflector[ObjectT], keys: KeysOf[ObjectT], *, optional: bool = False, owner: str = ""
    ) -> Self:
        """Reconcile the keys of an object whenever it changes; with `owner`, if its controller is of this kind."""
        self._watched.append((informer.store, keys, owner))
        if not optional:
            self._needed.append(informer.store)
        return self

    def complete(self, reconcile: Reconcile, *, workers: int) -> Controller:
        """Create the controller and add it to the manager."""
        controller = Controller(
            self._name or self._kind,
            reconcile,
            expectations=self.expectations,
            workers=workers,
            observer=self._metrics,
        )
        for store, keys, owner in self._watched:
            controller.watch(store, keys, owner)
        self._manager.add(controller, *self._needed)
        self._metrics.add_queue(controller.name, lambda: len(controller.queue))
        return controller


def own_key(obj: Object) -> Iterable[ObjectKey]:
    """Return the key of the object itself."""
    return (obj.metadata.key,)
