"""An API server in memory for controllers in virtual time: objects with versions, and a client that fails when told to.

Names are unique, versions grow, a delete with a uid deletes no other object, and a status is written only over the
version that it was computed from.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import msgspec

from kubedl.kube import codec
from kubedl.kube.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError, UnknownOutcomeError
from kubedl.kube.types.meta import ObjectKey, Resource

Harm = Literal["die before", "die after", "lose before", "lose after", "refuse", "none"]


class DiedError(BaseException):
    """The operator was killed."""


@dataclass
class Server:
    """Objects with versions, and every change in order."""

    now: datetime
    resources: Iterable[Resource[Any]]
    version: int = 0
    objects: dict[Resource[Any], dict[ObjectKey, Any]] = field(init=False)
    log: list[tuple[int, Resource[Any], ObjectKey, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.objects = {resource: {} for resource in self.resources}

    def put(self, resource: Resource[Any], obj: Any) -> Any:  # noqa: ANN401 - of any kind
        """Write a new state."""
        self.version += 1
        obj = with_metadata(obj, resource_version=str(self.version))
        self.objects[resource][obj.metadata.key] = obj
        self.log.append((self.version, resource, obj.metadata.key, obj))
        return obj

    def drop(self, resource: Resource[Any], key: ObjectKey) -> None:
        """Remove an object."""
        self.version += 1
        del self.objects[resource][key]
        self.log.append((self.version, resource, key, None))


@dataclass
class FakeClient:
    """The operator's side of the API; `harm` befalls the write of that number."""

    server: Server
    created: Callable[[Any], None]  # told of each object before it is created
    harm: tuple[int, Harm] | None = None
    writes: int = 0

    async def get(self, resource: Resource[Any], key: ObjectKey) -> Any:  # noqa: ANN401 - of any kind
        """As the API server has it now."""
        if key not in self.server.objects[resource]:
            raise NotFoundError(404, "NotFound", f"no {key}")
        return self.server.objects[resource][key]

    async def create(self, resource: Resource[Any], namespace: str, body: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Names are unique."""
        obj = resource.decoder.decode(codec.encode(body))
        if namespace != obj.metadata.namespace:
            raise ValueError(f"{obj.metadata.name} is sent to namespace {namespace}")

        def commit() -> Any:  # noqa: ANN401 - of any kind
            if obj.metadata.key in self.server.objects[resource]:
                raise AlreadyExistsError(409, "AlreadyExists", f"{obj.metadata.name} exists")
            self.created(obj)
            uid = f"uid-{self.server.version + 1}"
            return self.server.put(resource, with_metadata(obj, uid=uid, creation_timestamp=self.server.now))

        return self._write("create", commit)

    async def patch(
        self,
        resource: Resource[Any],
        key: ObjectKey,
        body: Mapping[str, Any],
        how: str = "merge",
        subresource: str = "",
    ) -> Any:  # noqa: ANN401 - of any kind
        """A status is written over the version that it was computed from; what changes nothing is not written."""
        if how != "merge":
            raise NotImplementedError(how)

        def commit() -> Any:  # noqa: ANN401 - of any kind
            found = self._version(resource, key, body)
            before = codec.plain(found)
            part = subresource or "spec"
            after = merged(before, {part: body[part]})
            return found if after == before else self.server.put(resource, resource.decoder.decode(codec.encode(after)))

        return self._write("patch", commit)

    async def delete(
        self,
        resource: Resource[Any],
        key: ObjectKey,
        uid: str,
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> Any:  # noqa: ANN401 - of any kind
        """In the foreground an object stays until its dependents are gone."""

        def commit() -> Any:  # noqa: ANN401 - of any kind
            found = self.server.objects[resource].get(key)
            if found is None or found.metadata.uid != uid:
                raise NotFoundError(404, "NotFound", f"no {key}")
            if propagation == "Foreground":
                return self.server.put(resource, with_metadata(found, deletion_timestamp=self.server.now))
            self.server.drop(resource, key)
            return None

        return self._write("delete", commit)

    def _version(self, resource: Resource[Any], key: ObjectKey, body: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return the object that a patch is for, if it has the resourceVersion that the patch was computed from."""
        found = self.server.objects[resource].get(key)
        if found is None:
            raise NotFoundError(404, "NotFound", f"no {key}")
        if found.metadata.resource_version != body["metadata"]["resourceVersion"]:
            raise ConflictError(409, "Conflict", "another version")
        return found

    def _write(self, verb: str, commit: Callable[[], Any]) -> Any:  # noqa: ANN401 - what the server answers
        harm = self.harm[1] if self.harm is not None and self.harm[0] == self.writes else None
        self.writes += 1
        if harm == "die before":
            raise DiedError
        if harm == "lose before":
            raise UnknownOutcomeError(504, "", "timeout")
        if harm == "refuse" and verb == "create":
            raise ApiError(403, "Forbidden", "exceeded quota")
        result = commit()
        if harm == "die after":
            raise DiedError
        if harm == "lose after":
            raise UnknownOutcomeError(504, "", "timeout")
        return result


def with_metadata(obj: Any, **fields: object) -> Any:  # noqa: ANN401 - of any kind
    """The object with other metadata."""
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, **fields))


def merged(target: object, patch: object) -> Any:  # noqa: ANN401 - JSON
    """Return the target with a merge patch applied (RFC 7386)."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result
