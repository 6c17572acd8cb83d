"""What every object carries: metadata, its identity as a key, and how its kind is addressed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from kubedl.wire.codec import decoder

NOTHING: Mapping[str, str] = {}


class Key(NamedTuple):
    """Names an object of a known kind; what queues hold and controllers get. Cluster-scoped: namespace is empty."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


# gc=False: a hundred thousand of these must not make the garbage collector stop the loop. It is safe for data that
# came from JSON, which has no cycles.
class Record(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True, kw_only=True):
    """The base of every struct that comes from the server."""


class OwnerReference(Record, frozen=True):
    """Who made an object and takes it along when deleted."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Record, frozen=True):
    """Identity and bookkeeping of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int = 0
    labels: Mapping[str, str] = NOTHING
    annotations: Mapping[str, str] = NOTHING
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def key(self) -> Key:
        """The object's key."""
        return Key(self.namespace, self.name)

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that manages this object, if any."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class Object(Protocol):
    """Anything that has metadata."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its metadata."""


ObjectT = TypeVar("ObjectT", bound=Object)


@dataclass(frozen=True)
class Resource(Generic[ObjectT]):
    """A kind of object as the API server knows it, and the struct that we read it into."""

    type: type[ObjectT]
    kind: str
    plural: str
    version: str = "v1"
    group: str = ""
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As in a manifest."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """As people write it: `pods`, `tfjobs.training.kubedl.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def decoder(self) -> "msgspec.json.Decoder[ObjectT]":
        """Reads one object."""
        return decoder(self.type)

    @cached_property
    def _prefix(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, of one object, or of its subresource."""
        parts = [self._prefix]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)
