"""Of which kinds and namespaces a person may see what was recorded: where they may list such jobs now.

A namespace that is gone has no roles, so its past is for those who may list such jobs everywhere.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kubedl.console.journal import Place
from kubedl.console.kinds import job_resources
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError, forbidden
from kubedl.console.rights import Rights

MOST_QUESTIONS = 5_000  # to the API server, for one list


@dataclass(frozen=True)
class Sight:
    """What a person may see: namespaces by kind, None for all; and how many namespaces are hidden from them."""

    allowed: Mapping[str, frozenset[str] | None]
    hidden_namespaces: int = 0


def resource_names() -> dict[str, str]:
    """Return the names of resources by kind: pytorchjobs.training.kubedl.io for PyTorchJob."""
    return {resource.kind: resource.name for resource in job_resources().values()}


def kind_named(text: str) -> str:
    """Return the kind of jobs that a person means by `pytorchjob` or `pytorch`. Raises RefusalError."""
    known, small = job_resources(), text.lower()
    found = known.get(small) or known.get(f"{small}job")
    if found is None:
        raise RefusalError(404, f"no kind {text}", "KubeDL has no such kind of jobs", "Look in the list of jobs.")
    return found.kind


@dataclass(frozen=True)
class HistoryRights:
    """The rights of one caller at a time."""

    rights: Rights

    async def everywhere(self, caller: Caller, places: Mapping[str, Collection[str]]) -> Sight:
        """Return what a person may see of these places: namespaces by kind."""
        names = {kind: name for kind, name in resource_names().items() if kind in places}
        whole = (await self.rights.view(caller, dict.fromkeys(names.values(), ()))).everywhere
        asked = {name: places[kind] for kind, name in names.items() if name not in whole}
        if sum(len(one) for one in asked.values()) > MOST_QUESTIONS:
            why = f"the history has jobs of more than {MOST_QUESTIONS} namespaces and kinds to ask the API server about"
            step = "Choose one: ns:NAME in the filter of jobs, ?ns=NAME in the address of costs."
            raise RefusalError(400, "too many namespaces", why, step)
        view = await self.rights.view(caller, asked)
        allowed: dict[str, frozenset[str] | None] = {}
        for kind, name in names.items():
            seen = frozenset(one for one in places[kind] if view.shows(Place(name, one)))
            allowed[kind] = None if name in whole else seen
        # Where one kind may be listed everywhere, no namespace is hidden.
        return Sight(allowed, 0 if whole else view.hidden_namespaces(list(asked)))

    async def within(self, caller: Caller, namespace: str, kind: str = "") -> Sight:
        """Return what a person may see of one namespace. If that is nothing it is refused, whatever is recorded."""
        names = {one: name for one, name in resource_names().items() if kind in ("", one)}
        allowed: dict[str, frozenset[str] | None] = {}
        for one, name in names.items():
            if await self.rights.list_in(caller, name, namespace):
                allowed[one] = frozenset({namespace})
        if not allowed:
            raise forbidden(caller.person.name, "list", names.get(kind, "any kind of jobs"), namespace)
        return Sight(allowed)
