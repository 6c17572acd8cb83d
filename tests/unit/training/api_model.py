"""A model of the API server: objects with versions, every change in order, and a client that fails when told to.

What holds on a real server holds here: names are unique, versions grow, a delete with a uid deletes no other object, a
pod that has ended or never got a node is removed at once while any other is given its time, and a status is written
only over the version that it was computed from.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec

from harness.fakes.api_server import merged, with_metadata
from kubedl.kube import codec
from kubedl.kube.client import Page
from kubedl.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    UnknownOutcomeError,
)
from kubedl.kube.types.core import EVENTS, PODS, Pod, PodCondition, PodStatus
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.training.policies.safe_time import later

GRACE = timedelta(seconds=30)
ENDED = ("Succeeded", "Failed")
# The server says so itself, when it creates a pod with scheduling gates.
GATED = PodCondition(
    type="PodScheduled",
    status="False",
    reason="SchedulingGated",
    message="Scheduling is blocked due to non-empty scheduling gates",
)

Harm = Literal["crash before", "crash after", "lost before", "lost after", "refused"]
Body = Mapping[str, Any]


class Crash(BaseException):
    """The operator was killed."""


@dataclass(frozen=True)
class Change:
    """One object's new state, or its last."""

    version: int
    object: Any
    deleted: bool = False


@dataclass
class ApiModel:
    """What the server keeps. `now` is everybody's clock."""

    now: datetime
    version: int = 0
    objects: dict[str, dict[ObjectKey, Any]] = field(default_factory=dict)  # by plural
    history: dict[str, list[Change]] = field(default_factory=dict)
    bodies: dict[str, Body] = field(default_factory=dict)  # of pods as they were sent, by uid

    def all(self, resource: Resource[Any]) -> Iterator[Any]:
        return iter(list(self.objects.get(resource.plural, {}).values()))

    def find(self, resource: Resource[Any], key: ObjectKey) -> Any:  # noqa: ANN401 - whatever it is
        return self.objects.get(resource.plural, {}).get(key)

    def put(self, resource: Resource[Any], made: Any) -> Any:  # noqa: ANN401 - whatever it is
        """Write a new state."""
        self.version += 1
        made = with_metadata(made, resource_version=str(self.version))
        self.objects.setdefault(resource.plural, {})[made.metadata.key] = made
        self.history.setdefault(resource.plural, []).append(Change(self.version, made))
        return made

    def drop(self, resource: Resource[Any], key: ObjectKey) -> None:
        """Remove an object."""
        self.version += 1
        gone = self.objects[resource.plural].pop(key)
        # Its last word is dated by the moment at which it was told to go, however long it was given; also where it
        # had ended before.
        given = timedelta(seconds=gone.metadata.deletion_grace_period_seconds)
        message_written_at = later(gone.metadata.deletion_timestamp or self.now, -given)
        fields = {"deletion_timestamp": message_written_at, "deletion_grace_period_seconds": 0}
        last = with_metadata(gone, resource_version=str(self.version), **fields)
        self.history.setdefault(resource.plural, []).append(Change(self.version, last, deleted=True))

    def create(self, resource: Resource[Any], body: Body) -> Any:  # noqa: ANN401 - whatever it is
        made = resource.decoder.decode(codec.encode(body))
        if self.find(resource, made.metadata.key) is not None:
            raise AlreadyExistsError(409, "AlreadyExists", f"{made.metadata.name} exists")
        uid = made.metadata.uid or f"uid-{self.version + 1}"
        made = with_metadata(made, uid=uid, creation_timestamp=self.now)
        if resource is PODS:
            gated = (GATED,) if body["spec"].get("schedulingGates") else ()
            made = msgspec.structs.replace(made, status=PodStatus(phase="Pending", conditions=gated))
            self.bodies[uid] = body
        return self.put(resource, made)

    def delete(self, resource: Resource[Any], key: ObjectKey, uid: str, grace: int | None) -> Any:  # noqa: ANN401
        found = self.find(resource, key)
        if found is None:
            raise NotFoundError(404, "NotFound", f"no {key}")
        if found.metadata.uid != uid:
            raise ConflictError(409, "Conflict", "another uid")
        if resource is PODS and grace != 0 and found.spec.node_name and found.status.phase not in ENDED:
            if found.metadata.deletion_timestamp is None:
                found = self.put(resource, _told_to_go(found, self.now))
            return found
        self.drop(resource, key)
        return None

    def patch(self, resource: Resource[Any], key: ObjectKey, body: Body) -> Any:  # noqa: ANN401 - whatever it is
        """Of a status, or of a spec."""
        found = self.find(resource, key)
        guard = body["metadata"]
        if found is None or found.metadata.uid != guard["uid"]:
            raise NotFoundError(404, "NotFound", f"no {key}")
        if found.metadata.resource_version != guard["resourceVersion"]:
            raise ConflictError(409, "Conflict", "another version")
        patched = merged(codec.plain(found), {name: part for name, part in body.items() if name != "metadata"})
        return self.put(resource, resource.decoder.decode(codec.encode(patched)))


@dataclass
class ClientModel:
    """The operator's side of the API. `harm` befalls the write of that number; what was sent beside it is lost too."""

    api: ApiModel
    watcher: Callable[[str, Resource[Any], Any], None]  # told of each write before it is made
    harm: tuple[int, Harm] | None = None
    refusal: Callable[[Resource[Any], Body], ApiError | None] = lambda *_: None  # of creations
    writes: int = 0
    dead: bool = False
    events: list[Body] = field(default_factory=list)  # about pods, as a kubelet would write them
    questions: int = 0  # about events, so far
    refused: int = 0
    reads: int = 0

    async def get(self, resource: Resource[Any], key: ObjectKey) -> Any:  # noqa: ANN401 - whatever it is
        self.reads += 1
        found = self.api.find(resource, key)
        if found is None:
            raise NotFoundError(404, "NotFound", f"no {key}")
        if not isinstance(found, resource.type):  # somebody reads more, or less, of it
            whole = merged(dict(self.api.bodies.get(found.metadata.uid, {})), codec.plain(found))
            return resource.decoder.decode(codec.encode(whole))
        return found

    async def page(self, resource: Resource[Any], namespace: str, params: Mapping[str, str]) -> Page:
        """Events about one pod."""
        assert (resource, bool(namespace)) == (EVENTS, True)
        self.questions += 1
        uid = params["fieldSelector"].partition("=")[2]
        about = [event for event in self.events if event["involvedObject"]["uid"] == uid]
        return codec.decode(codec.encode({"metadata": {}, "items": about}), Page)

    async def create(self, resource: Resource[Any], namespace: str, body: Body | Callable[[], Body]) -> Any:  # noqa: ANN401
        body = body() if callable(body) else body
        assert namespace == body["metadata"].get("namespace", "")
        if (refusal := self.refusal(resource, body)) is not None:
            self.refused += 1
            raise refusal
        return self._write("create", resource, body, lambda: self.api.create(resource, body))

    async def delete(
        self,
        resource: Resource[Any],
        key: ObjectKey,
        uid: str,
        grace_seconds: int | None = None,
        propagation: str = "Background",
    ) -> Any:  # noqa: ANN401 - whatever it is
        assert propagation == "Background"
        verb = "force" if grace_seconds == 0 else "delete"
        return self._write(verb, resource, key, lambda: self.api.delete(resource, key, uid, grace_seconds))

    async def patch(
        self, resource: Resource[Any], key: ObjectKey, body: Body, how: str = "merge", subresource: str = ""
    ) -> Any:  # noqa: ANN401 - whatever it is
        assert (how, subresource) == ("merge", "status" if "status" in body else "")
        what = body if subresource else key
        return self._write("patch", resource, what, lambda: self.api.patch(resource, key, body))

    def _write(self, verb: str, resource: Resource[Any], what: object, commit: Callable[[], Any]) -> Any:  # noqa: ANN401
        if self.dead:
            raise Crash
        harm = self.harm[1] if self.harm is not None and self.harm[0] == self.writes else None
        self.writes += 1
        if harm == "crash before":
            self.dead = True
            raise Crash
        if harm == "lost before":
            raise UnknownOutcomeError(504, "", "timeout")
        if harm == "refused" and verb == "create":
            raise ForbiddenError(403, "Forbidden", "exceeded quota")
        self.watcher(verb, resource, what)
        result = commit()
        if harm == "crash after":
            self.dead = True
            raise Crash
        if harm == "lost after":
            raise UnknownOutcomeError(504, "", "timeout")
        return result


def with_status(pod: Pod, **fields: object) -> Pod:
    """The pod with another status."""
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, **fields))


def _told_to_go(pod: Any, now: datetime) -> Any:  # noqa: ANN401 - a pod with other metadata
    seconds = int(GRACE.total_seconds())
    return with_metadata(pod, deletion_timestamp=now + GRACE, deletion_grace_period_seconds=seconds)
