"""Server-side apply that sends an object only if it would change, and never overwrites objects of others.

The digest of the last applied object is kept in an annotation, so a restarted operator sends nothing again. While it
runs, it also detects edits by other clients, from the generation, and restores its own fields. The replicas of a
Deployment are applied by a separate field manager, so that the field can be released without the API server removing
it.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kubedl.kube import codec
from kubedl.kube.client import Client
from kubedl.kube.errors import InvalidError, NotFoundError, UnknownOutcomeError
from kubedl.kube.types.apps import DEPLOYMENTS, Deployment
from kubedl.kube.types.meta import Object, ObjectKey, ObjectT, Resource
from kubedl.runtime.expectations import Expectations
from kubedl.runtime.writer import NameConflictError, is_controlled_by

Body = dict[str, Any]

SCALING = {"fieldManager": "kubedl-replicas", "force": "true"}
APPLY = "application/apply-patch+yaml"
NOT_TYPED = "failed to create typed patch object"


class Applier:
    """Applies the objects of one controller."""

    def __init__(self, client: Client, expectations: Expectations, annotation: str) -> None:
        """`annotation` is the key for the digest of the applied object."""
        self._client = client
        self._annotation = annotation
        self._expectations = expectations
        self._generations: dict[str, int] = {}  # uid → generation after our last apply
        self._templates: dict[str, str] = {}  # uid → digest of the pod template of a Deployment after our last apply

    def is_current(self, body: Body, obj: Object | None) -> bool:
        """Return whether the object was applied from this body and not modified since."""
        if obj is None or not self.was_applied(body, obj):
            return False
        meta = obj.metadata
        return self._generations.get(meta.uid, meta.generation) == meta.generation

    def was_applied(self, body: Body, obj: Object) -> bool:
        """Return whether this body was the last one applied."""
        return obj.metadata.annotations.get(self._annotation) == digest(body)

    def is_edited(self, deployment: Deployment) -> bool:
        """Return whether another client modified the pod template of a Deployment since this process applied it."""
        uid = deployment.metadata.uid
        return uid in self._templates and self._templates[uid] != _template_of(deployment)

    async def apply(self, owner: Object, resource: Resource[ObjectT], body: Body, current: ObjectT | None) -> ObjectT:
        """Apply the object; raises NameConflictError if the name belongs to an object of another owner."""
        meta = body["metadata"]
        key = ObjectKey(owner.metadata.namespace, meta["name"])
        if current is None:
            current = await self._find(resource, key)
        if current is not None and not is_controlled_by(current, owner):
            raise NameConflictError(resource.kind, key.name)
        annotations = {**(meta.get("annotations") or {}), self._annotation: digest(body)}
        # The uid restricts the apply to this object; another one with this name is rejected.
        known = {"uid": current.metadata.uid} if current is not None else {}
        whole = {**body, "metadata": {**meta, "annotations": annotations, **known}}
        with _understood():
            applied = await self._client.patch(resource, key, whole, how="apply")
        self._wrote(owner, resource, applied)
        if isinstance(applied, Deployment):
            self._templates[applied.metadata.uid] = _template_of(applied)
        return applied

    async def scale(self, owner: Object, deployment: Deployment, replicas: int) -> None:
        """Set the number of replicas."""
        meta = deployment.metadata
        body = {
            "apiVersion": DEPLOYMENTS.api_version,
            "kind": DEPLOYMENTS.kind,
            "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
            "spec": {"replicas": replicas},
        }
        path = DEPLOYMENTS.path(*meta.key)
        answer = await self._client.call("patch", DEPLOYMENTS, path, params=SCALING, body=body, content=APPLY)
        self._wrote(owner, DEPLOYMENTS, DEPLOYMENTS.decoder.decode(answer))

    async def remove_annotation(
        self, resource: Resource[ObjectT], obj: ObjectT, annotation: str, instead: Mapping[str, str]
    ) -> None:
        """Remove a handled annotation. Raises ConflictError if the object changed."""
        meta, notes = obj.metadata, {annotation: None, **instead}
        guard = {"uid": meta.uid, "resourceVersion": meta.resource_version, "annotations": notes}
        written = await self._client.patch(resource, meta.key, {"metadata": guard})
        self._expectations.record_write(meta.key, resource, written.metadata.resource_version)

    def forget(self, old: Object | None, new: Object | None) -> None:
        """Forget the digests of an object that is gone from the cache."""
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._generations.pop(old.metadata.uid, None)
            self._templates.pop(old.metadata.uid, None)

    async def _find(self, resource: Resource[ObjectT], key: ObjectKey) -> ObjectT | None:
        try:
            return await self._client.get(resource, key)
        except NotFoundError:
            return None

    def _wrote(self, owner: Object, resource: Resource[Any], obj: Object) -> None:
        self._generations[obj.metadata.uid] = obj.metadata.generation
        self._expectations.record_write(owner.metadata.key, resource, obj.metadata.resource_version)


@contextmanager
def _understood() -> Iterator[None]:
    """Return whether the error is a schema violation, which the server reports as an internal failure."""
    try:
        yield
    except UnknownOutcomeError as error:
        if NOT_TYPED not in error.message:
            raise
        raise InvalidError(error.code, "Invalid", error.message) from error


def digest(body: Body) -> str:
    """Return the digest of an object. The pod template of a Deployment has a separate digest."""
    if body["kind"] == DEPLOYMENTS.kind:
        body = {**body, "spec": {name: value for name, value in body["spec"].items() if name != "template"}}
    return hashlib.sha256(codec.encode(body)).hexdigest()[:16]


def _template_of(deployment: Deployment) -> str:
    return hashlib.sha256(deployment.spec.template.json if deployment.spec.template is not None else b"").hexdigest()
