"""What the API answers about who holds the GPUs of the cluster. What a person may not list is a number, no name."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from kubedl.console.cache import Stores
from kubedl.console.journal import Place
from kubedl.console.kinds import PODS, job_resources
from kubedl.console.node_pages import NodePages
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError
from kubedl.console.rights import Rights, View
from kubedl.console.usage import HeldBy
from kubedl.console.wire_nodes import HolderGroup, HolderList
from kubedl.history.creator import creator
from kubedl.kube.types.meta import ObjectKey

MOST = 50  # rows
GROUPED = ("workload", "user", "team")


class Group(NamedTuple):
    """Whose GPUs are added up: the fields of a row."""

    namespace: str = ""
    kind: str = ""
    name: str = ""
    user: str = ""


@dataclass(frozen=True)
class HolderPages:
    """Answers for one caller at a time."""

    stores: Stores
    rights: Rights

    async def holders(self, caller: Caller, by: str) -> HolderList:
        """Return who holds the GPUs, by workload, user or team, to those who may list nodes."""
        if by not in GROUPED:
            known = ", ".join(GROUPED)
            raise RefusalError(400, f"no groups by {by}", f"there are groups by {known}", "Choose one.")
        await NodePages(self.stores, self.rights).insist(caller)
        held = self.stores.usage.gpus
        view = await self._view(caller, held)
        groups: Counter[Group] = Counter()
        hidden = 0
        for who, gpus in held.items():
            if view.shows(Place(PODS.name, who.namespace)):
                groups[self._group(by, who, view)] += gpus
            else:
                hidden += gpus
        rows = sorted(groups.items(), key=lambda one: (-one[1], one[0]))
        return HolderList(
            by=by,
            rows=[HolderGroup(**one._asdict(), gpus=gpus) for one, gpus in rows[:MOST]],
            more=max(0, len(rows) - MOST),
            hidden_gpus=hidden,
            held=sum(held.values()),
            only_namespace=self.stores.namespace,
        )

    async def _view(self, caller: Caller, held: Collection[HeldBy]) -> View:
        places: dict[str, set[str]] = {}
        for who in held:
            places.setdefault(PODS.name, set()).add(who.namespace)
            if who.kind:
                places.setdefault(job_resources()[who.kind].name, set()).add(who.namespace)
        return await self.rights.view(caller, places)

    def _group(self, by: str, who: HeldBy, view: View) -> Group:
        if by == "team":
            return Group(who.namespace)
        if not who.kind:
            return Group() if by == "user" else Group(who.namespace, name=who.name)
        resource = job_resources()[who.kind]
        if not view.shows(Place(resource.name, who.namespace)):
            return Group() if by == "user" else Group(who.namespace)
        job = self.stores.job(who.kind, ObjectKey(who.namespace, who.name))
        user = creator(job.metadata).user if job is not None else ""
        return Group(name=user) if by == "user" else Group(who.namespace, resource.kind, who.name, user)
