"""The objects of a kind that a person may list, from the cache."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from kubedl.console.cache import Stores
from kubedl.console.journal import Place
from kubedl.console.people import Caller
from kubedl.console.problems import forbidden
from kubedl.console.rights import Question, Rights
from kubedl.console.wire_base import Missing
from kubedl.kube.types.meta import ObjectT, Resource
from kubedl.runtime.store import Store

MOST = 500  # rows of a list


@dataclass(frozen=True)
class Listed(Generic[ObjectT]):
    """What may be shown, and what would be needed to see the rest."""

    objects: Sequence[ObjectT]
    missing: Sequence[Missing]  # a right that would show more; empty if there is no more

    def named(self, search: str) -> tuple[Sequence[ObjectT], int]:
        """Return the first objects whose names contain a text, by namespace and name, and how many more there are."""
        found = sorted((one for one in self.objects if search in one.metadata.name), key=lambda one: one.metadata.key)
        return found[:MOST], max(0, len(found) - MOST)


@dataclass(frozen=True)
class Listing:
    """Lists for one caller at a time."""

    stores: Stores
    rights: Rights

    def installed(self, resource: Resource[ObjectT]) -> bool:
        """Return whether the cluster has this kind."""
        return not self.stores.absent(resource.name)

    async def visible(self, caller: Caller, resource: Resource[ObjectT], store: Store[ObjectT]) -> Listed[ObjectT]:
        """Return the objects that a person may list."""
        needed = Missing(verb="list", resource=resource.name, namespace="")
        if resource.name in self.stores.unfollowed:  # the account of this console may not list it
            return Listed((), (needed,))
        self.stores.insist_read(resource)
        found = list(store)
        if not resource.namespaced:
            allowed = await self.rights.may(caller, Question("list", resource.group, resource.plural, ""))
            return Listed(found, ()) if allowed else Listed((), (needed,))
        places = {resource.name: {one.metadata.namespace for one in found}}
        view = await self.rights.view(caller, places)
        shown = [one for one in found if view.shows(Place(resource.name, one.metadata.namespace))]
        return Listed(shown, (needed,) if len(shown) < len(found) else ())

    async def visible_in(
        self, caller: Caller, resource: Resource[ObjectT], store: Store[ObjectT], namespace: str
    ) -> Listed[ObjectT]:
        """Return the objects of one namespace, if a person may list them there."""
        allowed = await self.rights.list_in(caller, resource.name, namespace)
        if not allowed or resource.name in self.stores.unfollowed:
            return Listed((), (Missing(verb="list", resource=resource.name, namespace=namespace),))
        self.stores.insist_read(resource)
        return Listed([one for one in store if one.metadata.namespace == namespace], ())

    async def insist(self, caller: Caller, resource: Resource[ObjectT], namespace: str) -> None:
        """Refuse whoever may not list a kind in a namespace, whether something is there or not."""
        if not await self.rights.list_in(caller, resource.name, namespace):
            raise forbidden(caller.person.name, "list", resource.name, namespace)
        self.stores.insist_read(resource)
