"""Which calls and which watch events a rule is about, and on which of them it acts.

Matching has no memory: the same call or event always gives the same answer, and the count is passed in.
"""

from dataclasses import dataclass, fields

from testbed.faultproxy.request import WRITES, ApiRequest

_VERBS = ("get", "list", "watch", "try", "write", *WRITES)
_CHANGES = ("ADDED", "MODIFIED", "DELETED")
_EVENT_TYPES = (*_CHANGES, "BOOKMARK", "ERROR")


@dataclass(frozen=True, kw_only=True)
class WatchEvent:
    """As much of a watch event as a match looks at."""

    type: str
    namespace: str
    name: str


@dataclass(frozen=True, kw_only=True)
class _Turns:
    """The rule acts on match number `nth`, counted from 1, and on the `times - 1` after it (None: on all)."""

    nth: int = 1
    times: int | None = 1

    def __post_init__(self) -> None:
        if self.nth < 1 or (self.times is not None and self.times < 1):
            raise ValueError(f"nth={self.nth}, times={self.times}: both count from 1; times=None stands for ever")

    def __str__(self) -> str:
        given = (
            (field.name, getattr(self, field.name))
            for field in fields(self)
            if getattr(self, field.name) != field.default
        )
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given)})"

    def acts_on(self, count: int) -> bool:
        """Whether match number `count` is one to act on."""
        return count >= self.nth and (self.times is None or count < self.nth + self.times)


@dataclass(frozen=True, kw_only=True)
class Match(_Turns):
    """Calls to the API server. None is any, `subresource=""` the object itself, `write` every writing verb."""

    verb: str | None = None
    resource: str | None = None
    subresource: str | None = None
    namespace: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.verb not in (None, *_VERBS):
            raise ValueError(f"verb={self.verb!r} would never match; the verbs are {', '.join(_VERBS)}")

    def accepts(self, request: ApiRequest) -> bool:
        """Whether the rule is about this call."""
        verb_fits = request.verb in WRITES if self.verb == "write" else self.verb in (None, request.verb)
        return (
            verb_fits
            and self.resource in (None, request.resource)
            and self.subresource in (None, request.subresource)
            and self.namespace in (None, request.namespace)
            and self.name in (None, request.name)
        )


@dataclass(frozen=True, kw_only=True)
class MatchEvents(_Turns):
    """Events on watches of `resource`; namespace and name are those of the object in the event.

    `type=None` is any change to an object. Bookmarks come by the clock, so counting them would make `nth` a
    matter of luck: they match only when `type` names them.
    """

    type: str | None = None
    resource: str | None = None
    namespace: str | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.type not in (None, *_EVENT_TYPES):
            raise ValueError(f"type={self.type!r} would never match; the types are {', '.join(_EVENT_TYPES)}")

    def accepts(self, resource: str, event: WatchEvent) -> bool:
        """Whether the rule is about this event on a watch of `resource`."""
        type_fits = event.type in _CHANGES if self.type is None else event.type == self.type
        return (
            type_fits
            and self.resource in (None, resource)
            and self.namespace in (None, event.namespace)
            and self.name in (None, event.name)
        )
