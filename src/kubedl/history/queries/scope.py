"""Which jobs a caller may see, as a condition of queries."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, false, or_


@dataclass(frozen=True)
class Scope:
    """For each kind the namespaces of which its jobs may be seen; None: all. Of other kinds nothing may be seen."""

    kinds: Mapping[str, frozenset[str] | None]

    @property
    def namespaces(self) -> frozenset[str] | None:
        """Return all namespaces of which something may be seen; None: that is not bounded."""
        found: frozenset[str] = frozenset()
        for names in self.kinds.values():
            if names is None:
                return None
            found |= names
        return found

    def condition(self, kind: ColumnElement[str], namespace: ColumnElement[str]) -> ColumnElement[bool]:
        """Return what the rows of a table with these columns must fulfil."""
        parts = [
            kind.in_(kinds) if names is None else and_(kind.in_(kinds), namespace.in_(sorted(names)))
            for names, kinds in self._together()
        ]
        return or_(*parts) if parts else false()

    def _together(self) -> Iterator[tuple[frozenset[str] | None, list[str]]]:
        """Yield kinds that may be seen in the same namespaces: with one role that is all of them."""
        groups: dict[frozenset[str] | None, list[str]] = {}
        for kind, names in sorted(self.kinds.items()):
            if names is None or names:
                groups.setdefault(names, []).append(kind)
        yield from groups.items()
