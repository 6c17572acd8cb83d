"""What every object of the API server has: its manifest, names, times and conditions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubedl.client.job import HasManifest, parse_time


@dataclass(frozen=True)
class ServerObject(HasManifest):
    """One object. `manifest` is the whole of it; the rest are the parts that everybody asks for."""

    @property
    def name(self) -> str:
        """Return the name."""
        return str(self.metadata["name"])

    @property
    def namespace(self) -> str:
        """Return the namespace."""
        return str(self.metadata.get("namespace") or "")

    @property
    def created(self) -> datetime | None:
        """Return when it was created."""
        return parse_time(self.metadata.get("creationTimestamp"))

    def condition(self, kind: str) -> Mapping[str, Any]:
        """Return the condition of a type; empty if there is none."""
        return next((one for one in self.status.get("conditions") or () if one.get("type") == kind), {})

    def has_condition(self, kind: str) -> bool:
        """Return whether a condition is true."""
        return bool(self.condition(kind).get("status") == "True")
