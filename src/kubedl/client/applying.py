"""Creates or changes an object from its manifest, by server-side apply."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubedl.client.connection import AGENT
from kubedl.client.differences import Difference, differences
from kubedl.client.errors import Conflict, Invalid, KubedlError, NotSupported
from kubedl.client.kinds import GROUP_VERSION
from kubedl.client.objects import CRONS, INFERENCES, MODELS, VERSIONS, Object, Resource
from kubedl.kube.errors import ApiError, ConflictError, NotFoundError

if TYPE_CHECKING:
    from kubedl.client.job_lookup import Cluster

CONTENT = "application/apply-patch+yaml"  # JSON is YAML
CACHES = Resource("cache", "cachebackends", "cache.kubedl.io/v1alpha1")
KINDS = {"Cron": CRONS, "Inference": INFERENCES, "Model": MODELS, "ModelVersion": VERSIONS, "CacheBackend": CACHES}
_OF_SERVER = ("managedFields", "resourceVersion", "uid", "selfLink", "generation", "creationTimestamp")
_OWN = f'"{AGENT}"'  # as the server quotes the manager of a field


@dataclass(frozen=True)
class Applied:
    """An object before and after it was applied."""

    before: Object | None
    after: Object

    def __str__(self) -> str:
        return f"{str(self.after['kind']).lower()}/{self.after['metadata']['name']}"

    @property
    def changes(self) -> list[Difference]:
        """Return which fields changed; none of an object that was created."""
        return differences(self.before, self.after) if self.before is not None else []

    @property
    def result(self) -> str:
        """Return `created`, `changed` or `unchanged`."""
        if self.before is None:
            return "created"
        return "changed" if self.changes else "unchanged"


async def apply(
    cluster: "Cluster", manifest: Mapping[str, Any], namespace: str, *, force: bool = False, dry_run: bool = False
) -> Applied:
    """Apply an object. Raises Conflict if others set its fields to something else, unless they are taken over."""
    resource, name = await _resource(cluster, manifest), str(manifest["metadata"]["name"])
    path, what = resource.path(namespace, name), f"{str(manifest['kind']).lower()}/{name}"
    before = await _get(cluster, path, what)
    metadata = {key: value for key, value in manifest["metadata"].items() if key not in _OF_SERVER}
    body = {key: value for key, value in manifest.items() if key != "status"}
    body["metadata"] = {**metadata, "namespace": namespace}
    params = {"fieldManager": AGENT, "force": "false"} | ({"dryRun": "All"} if dry_run else {})
    for takes_over in (force, True):
        query = params | {"force": "true" if takes_over else "false"}
        try:
            answer = await cluster.client.call("PATCH", path, params=query, body=body, content=CONTENT)
            return Applied(before, cluster.decode(answer, dict))
        except ConflictError as error:
            if not takes_over and _is_own(error):
                continue  # another command of ours wrote the field, such as submit or scale
            raise _conflict(cluster, error, what) from error
        except ApiError as error:
            raise _refused(error, cluster.failed(error, f"apply {what}"), name) from error
    raise AssertionError("unreachable")


async def _resource(cluster: "Cluster", manifest: Mapping[str, Any]) -> Resource:
    version, kind = str(manifest.get("apiVersion")), str(manifest["kind"])
    known = KINDS.get(kind)
    if known is not None and version == known.group:
        return known
    if version != GROUP_VERSION:
        why = f"it knows jobs ({GROUP_VERSION}), {', '.join(f'{word} ({one.group})' for word, one in KINDS.items())}"
        raise NotSupported(f"kubedl applies no {kind[:63]} of {version[:253]}", why, ("kubectl apply -f FILE",))
    found = await cluster.kind(kind)
    return Resource("job", found.plural, GROUP_VERSION)


async def _get(cluster: "Cluster", path: str, what: str) -> Object | None:
    try:
        return cluster.decode(await cluster.client.call("GET", path), dict)
    except NotFoundError:
        return None
    except ApiError as error:
        raise cluster.failed(error, f"get {what}") from error


def _is_own(error: ConflictError) -> bool:
    causes = [cause for cause in error.causes if cause.reason == "FieldManagerConflict"]
    return bool(causes) and all(_OWN in cause.message for cause in causes)


def _conflict(cluster: "Cluster", error: ConflictError, what: str) -> KubedlError:
    causes = [cause for cause in error.causes if cause.reason == "FieldManagerConflict"]
    if not causes:
        return cluster.failed(error, f"apply {what}")
    lines = [f"{cause.field.lstrip('.')}: {cause.message}" for cause in causes]
    steps = ("--force-conflicts   (take the fields over)", "leave them out of the file")
    return Conflict(f"cannot apply {what}: others have set these fields", "\n".join(lines), steps)


def _refused(error: ApiError, made: KubedlError, name: str) -> KubedlError:
    """Say what can be done about a change that the server refuses: some fields change only while a job is suspended."""
    if not isinstance(made, Invalid):
        return made
    if "suspend" in made.why:
        steps: tuple[str, ...] = (f"kubedl suspend {name}, then apply it again",)
    elif any(cause.reason == "FieldValueForbidden" for cause in error.causes):
        steps = ("undo it", "another metadata.name")
    else:
        steps = ("correct the file",)
    return Invalid(made.message, made.why, steps)
