"""A controller is told what it is for, owns and watches; keys, expectations and dependencies follow."""

from typing import TYPE_CHECKING, cast

import pytest

from kubedl.kube.types.core import NODES, PODS, SERVICES, Node, Pod, Service
from kubedl.kube.types.meta import ObjectKey, ObjectMeta, OwnerReference
from kubedl.runtime.builder import ControllerBuilder
from kubedl.runtime.manager import Manager
from kubedl.runtime.metrics import Metrics

if TYPE_CHECKING:
    from kubedl.kube.client import Client
    from kubedl.runtime.controller import Controller
    from kubedl.runtime.reflector import Reflector

OWNER = ObjectKey("team", "owner")


class Parts:
    """A manager with informers of pods, Services and nodes, and a builder of a controller of pods."""

    def __init__(self, name: str = "") -> None:
        self.manager = Manager(cast("Client", None))
        self.metrics = Metrics()
        self.pods: Reflector[Pod] = self.manager.informer(PODS)
        self.services: Reflector[Service] = self.manager.informer(SERVICES)
        self.nodes: Reflector[Node] = self.manager.informer(NODES)
        self.builder = ControllerBuilder(self.manager, self.metrics, name)

    def needs(self, controller: "Controller") -> set[str]:
        """The kinds whose caches it waits for."""
        stores = self.manager._needs[controller]  # noqa: SLF001 - as the manager runs it
        return {reflector.resource.kind for reflector in self.manager.reflectors if reflector.store in stores}


async def reconcile(_: ObjectKey) -> float | None:
    return None


async def keys(controller: "Controller") -> list[ObjectKey]:
    """All that wait for a reconcile."""
    return [await controller.queue.get() for _ in range(len(controller.queue))]


def owned(kind: str = "Pod", *, controller: bool = True, version: str = "1") -> ObjectMeta:
    """Of an object that belongs to the owner."""
    reference = OwnerReference(api_version="v1", kind=kind, name=OWNER.name, uid="1", controller=controller)
    return ObjectMeta(name="part", namespace=OWNER.namespace, resource_version=version, owner_references=(reference,))


async def test_a_controller_is_for_objects_of_a_kind_and_has_its_name() -> None:
    parts = Parts()
    controller = parts.builder.for_(parts.pods).complete(reconcile, workers=1)
    parts.pods.store.put(Pod(metadata=ObjectMeta(name=OWNER.name, namespace=OWNER.namespace)))
    assert await keys(controller) == [OWNER]
    assert controller.name == "Pod"
    assert parts.manager.controllers == [controller]


async def test_of_those_objects_it_may_choose_some() -> None:
    parts = Parts("chosen")
    builder = parts.builder.for_(parts.pods, lambda pod: (pod.metadata.key,) if pod.metadata.labels else ())
    controller = builder.complete(reconcile, workers=1)
    parts.pods.store.put(Pod(metadata=ObjectMeta(name="a", namespace="team")))
    parts.pods.store.put(Pod(metadata=ObjectMeta(name="b", namespace="team", labels={"chosen": "yes"})))
    assert await keys(controller) == [ObjectKey("team", "b")]
    assert controller.name == "chosen"


@pytest.mark.parametrize(
    ("meta", "expected"),
    [(owned(), [OWNER]), (owned("Job"), []), (owned(controller=False), []), (ObjectMeta(name="alone"), [])],
)
async def test_what_it_owns_leads_to_its_controller_of_that_kind(meta: ObjectMeta, expected: list[ObjectKey]) -> None:
    parts = Parts()
    controller = parts.builder.for_(parts.pods).owns(parts.services).complete(reconcile, workers=1)
    parts.services.store.put(Service(metadata=meta))
    assert await keys(controller) == expected


async def test_who_owns_something_may_be_told_otherwise() -> None:
    parts = Parts()
    builder = parts.builder.for_(parts.pods).owns(parts.services, keys=lambda one: (one.metadata.key,))
    controller = builder.complete(reconcile, workers=1)
    parts.services.store.put(Service(metadata=owned()))
    assert await keys(controller) == [ObjectKey("team", "part")]


async def test_what_it_watches_leads_to_any_keys() -> None:
    parts = Parts()
    controller = parts.builder.for_(parts.pods).watches(parts.nodes, lambda _: (OWNER,)).complete(reconcile, workers=1)
    parts.nodes.store.put(Node(metadata=ObjectMeta(name="node")))
    assert await keys(controller) == [OWNER]


def test_owners_without_a_kind_are_refused() -> None:
    parts = Parts()
    with pytest.raises(ValueError, match="for_"):
        parts.builder.owns(parts.services)


@pytest.mark.parametrize(("resource", "waits"), [(PODS, True), (SERVICES, True), (NODES, False)])
def test_only_writes_of_what_it_is_for_or_owns_are_waited_for(resource: object, waits: bool) -> None:
    """Nothing would ever confirm another one in time: it is read, and somebody else's."""
    parts = Parts()
    parts.builder.for_(parts.pods).owns(parts.services).watches(parts.nodes, lambda _: ())
    parts.builder.expectations.record_write(OWNER, resource, "5")  # type: ignore[arg-type]
    assert parts.builder.expectations.pending(OWNER) == waits


def test_it_waits_for_every_cache_that_is_not_optional() -> None:
    parts = Parts()
    builder = parts.builder.for_(parts.pods).owns(parts.services).watches(parts.nodes, lambda _: ())
    assert parts.needs(builder.complete(reconcile, workers=1)) == {"Pod", "Service", "Node"}
    parts = Parts()
    builder = parts.builder.for_(parts.pods).owns(parts.services, optional=True)
    builder.watches(parts.nodes, lambda _: (), optional=True)
    assert parts.needs(builder.complete(reconcile, workers=1)) == {"Pod"}


def test_its_queue_is_among_the_metrics() -> None:
    parts = Parts("test")
    controller = parts.builder.for_(parts.pods).complete(reconcile, workers=1)
    controller.queue.add(OWNER)
    assert 'kubedl_queue_depth{controller="test"} 1.0' in parts.metrics.render().decode()
