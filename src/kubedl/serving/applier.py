"""Objects by server-side apply, each sent only when it would change something, and never over somebody else's.

What was sent is remembered by its digest, in an annotation of the object: an operator that starts anew sends nothing
again. While it runs it also notices an object that somebody else has edited, by its generation, and puts right what is
ours in it. How many replicas a Deployment has is applied under a name of its own, so that the field can be let go
without the API server taking it for removed.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kubedl.api.inference import GROUP
from kubedl.kube.client import Client
from kubedl.kube.errors import InvalidError, NotFoundError, UnsureError
from kubedl.runtime.gate import Gate
from kubedl.runtime.writer import OccupiedError, belongs
from kubedl.serving.objects import DEPLOYMENTS, Deployment
from kubedl.serving.template import Body
from kubedl.wire import codec
from kubedl.wire.meta import Key, Object, ObjectT, Resource

APPLIED = f"{GROUP}/applied"
SCALING = {"fieldManager": "kubedl-replicas", "force": "true"}
APPLY = "application/apply-patch+yaml"
NOT_TYPED = "failed to create typed patch object"


class Applier:
    """For one controller."""

    def __init__(self, client: Client, gate: Gate) -> None:
        self._client = client
        self._gate = gate
        self._generations: dict[str, int] = {}  # by uid: of objects as we left them
        self._templates: dict[str, str] = {}  # by uid: of Deployments as we left them, a digest

    def is_current(self, body: Body, found: Object | None) -> bool:
        """Whether the object that is there was made from this body, and nobody has touched it since."""
        if found is None or not is_made_from(body, found):
            return False
        meta = found.metadata
        return self._generations.get(meta.uid, meta.generation) == meta.generation

    def is_edited(self, found: Deployment) -> bool:
        """Whether somebody has changed the pods of a Deployment since this process applied it."""
        uid = found.metadata.uid
        return uid in self._templates and self._templates[uid] != _template_of(found)

    async def apply(self, owner: Object, resource: Resource[ObjectT], body: Body, found: ObjectT | None) -> ObjectT:
        """Make it so; OccupiedError if the name is somebody else's."""
        meta = body["metadata"]
        key = Key(owner.metadata.namespace, meta["name"])
        if found is None:
            found = await self._find(resource, key)
        if found is not None and not belongs(found, owner):
            raise OccupiedError(resource.kind, key.name)
        annotations = {**(meta.get("annotations") or {}), APPLIED: digest(body)}
        # With the uid it is this object or none; another of that name is refused.
        known = {"uid": found.metadata.uid} if found is not None else {}
        whole = {**body, "metadata": {**meta, "annotations": annotations, **known}}
        with _understood():
            made = await self._client.patch(resource, key, whole, how="apply")
        self._wrote(owner, resource, made)
        if isinstance(made, Deployment):
            self._templates[made.metadata.uid] = _template_of(made)
        return made

    async def scale(self, owner: Object, found: Deployment, replicas: int) -> None:
        """Have so many pods."""
        meta = found.metadata
        body = {
            "apiVersion": DEPLOYMENTS.api_version,
            "kind": DEPLOYMENTS.kind,
            "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
            "spec": {"replicas": replicas},
        }
        path = DEPLOYMENTS.path(*meta.key)
        answer = await self._client.call("patch", DEPLOYMENTS, path, params=SCALING, body=body, content=APPLY)
        self._wrote(owner, DEPLOYMENTS, DEPLOYMENTS.decoder.decode(answer))

    async def take_away(
        self, resource: Resource[ObjectT], found: ObjectT, annotation: str, instead: Mapping[str, str]
    ) -> None:
        """What somebody wrote has been done; ConflictError if he has written something else meanwhile."""
        meta, notes = found.metadata, {annotation: None, **instead}
        guard = {"uid": meta.uid, "resourceVersion": meta.resource_version, "annotations": notes}
        made = await self._client.patch(resource, meta.key, {"metadata": guard})
        self._gate.wrote(meta.key, resource, made.metadata.resource_version)

    def forget(self, old: Object | None, new: Object | None) -> None:
        """A cache has changed: of what is gone nothing is remembered, whoever took it away."""
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._generations.pop(old.metadata.uid, None)
            self._templates.pop(old.metadata.uid, None)

    async def _find(self, resource: Resource[ObjectT], key: Key) -> ObjectT | None:
        try:
            return await self._client.get(resource, key)
        except NotFoundError:
            return None

    def _wrote(self, owner: Object, resource: Resource[Any], made: Object) -> None:
        self._generations[made.metadata.uid] = made.metadata.generation
        self._gate.wrote(owner.metadata.key, resource, made.metadata.resource_version)


@contextmanager
def _understood() -> Iterator[None]:
    """For a field that a kind does not have, or a list's item that is there twice, the server says that it failed."""
    try:
        yield
    except UnsureError as error:
        if NOT_TYPED not in error.message:
            raise
        raise InvalidError(error.code, "Invalid", error.message) from error


def is_made_from(body: Body, found: Object) -> bool:
    """Whether this is what was last applied."""
    return found.metadata.annotations.get(APPLIED) == digest(body)


def digest(body: Body) -> str:
    """Of an object as it is to be. What the pods of a Deployment are made of is told by another digest, beside it."""
    if body["kind"] == DEPLOYMENTS.kind:
        body = {**body, "spec": {name: value for name, value in body["spec"].items() if name != "template"}}
    return hashlib.sha256(codec.encode(body)).hexdigest()[:16]


def _template_of(found: Deployment) -> str:
    return hashlib.sha256(found.spec.template.json if found.spec.template is not None else b"").hexdigest()
