"""Object metadata, object keys, and the URL paths of resources."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from kubedl.kube.codec import decoder

NOTHING: Mapping[str, str] = {}


class ObjectKey(NamedTuple):
    """Namespace and name of an object, as work queues and controllers use it. Cluster-scoped: namespace is empty."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


# gc=False: a hundred thousand of these must not make the garbage collector block the loop. It is safe for data decoded
# from JSON, which has no cycles.
class Record(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True, kw_only=True):
    """Base class of all structs that are decoded from the API server."""


class OwnerReference(Record, frozen=True):
    """An owner reference."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Record, frozen=True):
    """Metadata of an object."""

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
    def key(self) -> ObjectKey:
        """Return the key of the object."""
        return ObjectKey(self.namespace, self.name)

    @property
    def controller(self) -> OwnerReference | None:
        """Return the controller owner reference, if any."""
        for owner in self.owner_references:  # called several times on every change of a pod
            if owner.controller:
                return owner
        return None


class Object(Protocol):
    """Any object with metadata."""

    @property
    def metadata(self) -> ObjectMeta:
        """The metadata of the object."""


ObjectT = TypeVar("ObjectT", bound=Object)


@dataclass(frozen=True)
class Resource(Generic[ObjectT]):
    """A resource of the API server, and the struct that its objects are decoded into."""

    type: type[ObjectT]
    kind: str
    plural: str
    version: str = "v1"
    group: str = ""
    namespaced: bool = True
    bookmarks: bool = True  # whether a watch in which nothing happens says every minute that it lives

    @property
    def api_version(self) -> str:
        """The apiVersion, as in a manifest."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def name(self) -> str:
        """The name as in kubectl: `pods`, `tfjobs.training.kubedl.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @cached_property
    def decoder(self) -> "msgspec.json.Decoder[ObjectT]":
        """Return the decoder of one object."""
        return decoder(self.type)

    @cached_property
    def _prefix(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the URL path of the collection, of one object, or of its subresource."""
        parts = [self._prefix]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)
