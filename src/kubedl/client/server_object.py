"""What every object of the API server has: its manifest, names, times and conditions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kubedl.client.job import parse_time


@dataclass(frozen=True)
class ServerObject:
    """One object. `manifest` is the whole of it; the rest are the parts that everybody asks for."""

    manifest: Mapping[str, Any] = field(repr=False)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Return the metadata."""
        found: Mapping[str, Any] = self.manifest["metadata"]
        return found

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

    @property
    def spec(self) -> Mapping[str, Any]:
        """Return the spec."""
        found: Mapping[str, Any] = self.manifest.get("spec") or {}
        return found

    @property
    def status(self) -> Mapping[str, Any]:
        """Return the status; empty if no operator has seen the object."""
        found: Mapping[str, Any] = self.manifest.get("status") or {}
        return found

    def condition(self, kind: str) -> Mapping[str, Any]:
        """Return the condition of a type; empty if there is none."""
        return next((one for one in self.status.get("conditions") or () if one.get("type") == kind), {})

    def has_condition(self, kind: str) -> bool:
        """Return whether a condition is true."""
        return bool(self.condition(kind).get("status") == "True")
