"""What the API answers about models: what a version is made from, which job made it, and who serves it."""

from collections.abc import Iterable
from dataclasses import dataclass

from kubedl.console.cache import Stores
from kubedl.console.kinds import job_resources
from kubedl.console.listing import Listing
from kubedl.console.object_kinds import INFERENCES, MODEL_VERSIONS, MODELS, ShownModel, ShownVersion
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError
from kubedl.console.rows import EARLIEST, LONGEST_MESSAGE, build_state
from kubedl.console.served import Served, by_version
from kubedl.console.wire_models import ModelList, ModelPage, ModelRow, VersionRow
from kubedl.history.observed import Origin, RecordedJob
from kubedl.history.sanitizing import without_credentials
from kubedl.kube.types.meta import ObjectKey

MOST_VERSIONS = 200
SHORTEST_DIGEST = 7  # characters


@dataclass(frozen=True)
class ModelPages:
    """Answers for one caller at a time."""

    listing: Listing

    async def models(self, caller: Caller, search: str) -> ModelList:
        """Return the models whose names contain a text."""
        stores = self.listing.stores
        listed = await self.listing.visible(caller, MODELS, stores.models)
        versions = await self.listing.visible(caller, MODEL_VERSIONS, stores.versions)
        services = await self.listing.visible(caller, INFERENCES, stores.inferences)
        by_digest = _of_digest(search, versions.objects)
        found, more = listed.named(search)
        found = [one for one in listed.objects if one.metadata.key in by_digest] or found
        users = _users(versions.objects, by_version(services.objects))
        return ModelList(
            installed=self.listing.installed(MODELS),
            rows=[
                _model_row(one, users.get(one.metadata.key, set()), by_digest.get(one.metadata.key, ""))
                for one in found
            ],
            more=more,
            missing=[*listed.missing, *versions.missing, *services.missing],
        )

    async def model(self, caller: Caller, key: ObjectKey) -> ModelPage:
        """Return one model with its versions."""
        stores = self.listing.stores
        model = await visible_model(self.listing, caller, key)
        versions = await self.listing.visible_in(caller, MODEL_VERSIONS, stores.versions, key.namespace)
        services = await self.listing.visible_in(caller, INFERENCES, stores.inferences, key.namespace)
        own = versions_of(key.name, versions.objects)
        served = by_version(services.objects)
        users = _users(own, served).get(key, set())
        return ModelPage(
            model=_model_row(model, users),
            versions=[await self._version(caller, one, served) for one in own[:MOST_VERSIONS]],
            more_versions=max(0, len(own) - MOST_VERSIONS),
            missing=[*versions.missing, *services.missing],
        )

    async def _version(self, caller: Caller, version: ShownVersion, served: Served) -> VersionRow:
        spec, status, meta = version.spec, version.status, version.metadata
        origin = spec.origin or Origin()
        sees_job = await may_list_job(self.listing, caller, meta.namespace, origin)
        return VersionRow(
            name=meta.name,
            state=build_state(status),
            message=status.message[:LONGEST_MESSAGE],
            image=status.image,
            size=status.size,
            signed=status.signed,
            author=spec.created_by,
            parent=spec.parent,
            job_kind=origin.job_kind if sees_job else "",
            job=origin.job_name if sees_job else "",
            job_hidden=not sees_job,
            job_there=sees_job and job_of(self.listing.stores, meta.namespace, origin) is not None,
            code_repository=without_credentials(origin.code_repository),
            code_revision=origin.code_revision,
            images=sorted(origin.trainer_images.values()),
            serving=served.get(meta.key, ()),
            created=meta.creation_timestamp,
        )


async def visible_model(listing: Listing, caller: Caller, key: ObjectKey) -> ShownModel:
    """Return a model. One that the person may not see is refused alike, whether it exists or not."""
    await listing.insist(caller, MODELS, key.namespace)
    model = listing.stores.models.get(key)
    if model is None:
        raise RefusalError(404, f"no Model {key}", "it does not exist, or was deleted", "Look in the list of models.")
    return model


def versions_of(model: str, versions: Iterable[ShownVersion]) -> list[ShownVersion]:
    """Return the versions of a model, newest first."""
    own = [one for one in versions if one.spec.model_name == model]
    return sorted(own, key=lambda one: (one.metadata.creation_timestamp or EARLIEST, one.metadata.name), reverse=True)


async def may_list_job(listing: Listing, caller: Caller, namespace: str, origin: Origin) -> bool:
    """Return whether a person may see the job of a version; true if none is stated."""
    resource = job_resources().get(origin.job_kind.lower())
    if resource is None:
        return not origin.job_name
    return await listing.rights.list_in(caller, resource.name, namespace)


def job_of(stores: Stores, namespace: str, origin: Origin) -> RecordedJob | None:
    """Return the job of a version, if it still exists: not another one that has its name now."""
    job = stores.job(origin.job_kind.lower(), ObjectKey(namespace, origin.job_name))
    return job if job is not None and origin.job_uid in ("", job.metadata.uid) else None


def _users(versions: Iterable[ShownVersion], served: Served) -> dict[ObjectKey, set[str]]:
    """Return the services of each model."""
    found: dict[ObjectKey, set[str]] = {}
    for version in versions:
        key = version.metadata.key
        model = ObjectKey(key.namespace, version.spec.model_name)
        found.setdefault(model, set()).update(one.service for one in served.get(key, ()))
    return found


def _of_digest(search: str, versions: Iterable[ShownVersion]) -> dict[ObjectKey, str]:
    """Return the versions whose image has a digest, by model; a part of a digest is one too if it is long enough."""
    digest = search.lower().rpartition("@")[2].removeprefix("sha256:")
    if len(digest) < SHORTEST_DIGEST or not set(digest) <= set("0123456789abcdef"):
        return {}
    return {
        ObjectKey(one.metadata.namespace, one.spec.model_name): one.metadata.name
        for one in versions
        if one.status.image.rpartition("@sha256:")[2].startswith(digest)
    }


def _model_row(model: ShownModel, users: Iterable[str], found: str = "") -> ModelRow:
    latest = model.status.latest_version
    return ModelRow(
        namespace=model.metadata.namespace,
        name=model.metadata.name,
        description=model.spec.description[:LONGEST_MESSAGE],
        versions=model.status.version_count,
        latest=latest.model_version if latest is not None else "",
        found=found,
        served_by=sorted(users),
        created=model.metadata.creation_timestamp,
    )
