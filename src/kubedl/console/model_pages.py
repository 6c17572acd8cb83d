"""What the API answers about models: what a version is made from, which job made it, and who serves it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from kubedl.console.kinds import job_resources
from kubedl.console.listing import Listing
from kubedl.console.object_kinds import INFERENCES, MODEL_VERSIONS, MODELS, ShownInference, ShownModel, ShownVersion
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError
from kubedl.console.rows import LONGEST_MESSAGE
from kubedl.console.wire_models import ModelList, ModelPage, ModelRow, Serving, VersionRow
from kubedl.history.observed import Origin
from kubedl.history.sanitizing import without_credentials
from kubedl.kube.types.meta import ObjectKey

MOST_VERSIONS = 200
STATES = {"ImageBuilding": "Building", "ImageBuildFailed": "Failed", "ImageBuildSucceeded": "Built"}
EARLIEST = datetime.min.replace(tzinfo=UTC)
Served = dict[ObjectKey, list[Serving]]  # by the key of a version


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
        found, more = listed.named(search)
        users = _users(versions.objects, _served(services.objects))
        return ModelList(
            installed=self.listing.installed(MODELS),
            rows=[_model_row(one, users.get(one.metadata.key, set())) for one in found],
            more=more,
            missing=[*listed.missing, *versions.missing, *services.missing],
        )

    async def model(self, caller: Caller, key: ObjectKey) -> ModelPage:
        """Return one model with its versions."""
        stores = self.listing.stores
        await self.listing.insist(caller, MODELS, key.namespace)
        model = stores.models.get(key)
        if model is None:
            raise RefusalError(
                404, f"no Model {key}", "it does not exist, or was deleted", "Look in the list of models."
            )
        versions = await self.listing.visible_in(caller, MODEL_VERSIONS, stores.versions, key.namespace)
        services = await self.listing.visible_in(caller, INFERENCES, stores.inferences, key.namespace)
        own = [one for one in versions.objects if one.spec.model_name == key.name]
        own.sort(key=lambda one: (one.metadata.creation_timestamp or EARLIEST, one.metadata.name), reverse=True)
        served = _served(services.objects)
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
        return VersionRow(
            name=meta.name,
            state=STATES.get(status.image_build_phase or "", ""),
            message=status.message[:LONGEST_MESSAGE],
            image=status.image,
            size=status.size,
            signed=status.signed,
            author=spec.created_by,
            parent=spec.parent,
            job_kind=origin.job_kind,
            job=origin.job_name,
            job_there=await self._job_there(caller, meta.namespace, origin),
            code_repository=without_credentials(origin.code_repository),
            code_revision=origin.code_revision,
            images=sorted(origin.trainer_images.values()),
            serving=served.get(meta.key, ()),
            created=meta.creation_timestamp,
        )

    async def _job_there(self, caller: Caller, namespace: str, origin: Origin) -> bool:
        """Return whether the job of a version can be opened: not another one that has its name now."""
        kind = origin.job_kind.lower()
        if kind not in job_resources():
            return False
        if not await self.listing.rights.list_in(caller, job_resources()[kind].name, namespace):
            return False
        job = self.listing.stores.job(kind, ObjectKey(namespace, origin.job_name))
        return job is not None and origin.job_uid in ("", job.metadata.uid)


def _users(versions: Iterable[ShownVersion], served: Served) -> dict[ObjectKey, set[str]]:
    """Return the services of each model."""
    found: dict[ObjectKey, set[str]] = {}
    for version in versions:
        key = version.metadata.key
        model = ObjectKey(key.namespace, version.spec.model_name)
        found.setdefault(model, set()).update(one.service for one in served.get(key, ()))
    return found


def _served(services: Iterable[ShownInference]) -> Served:
    """Return which predictors run which versions."""
    found: Served = {}
    for service in services:
        namespace, name = service.metadata.key
        for one in service.status.predictor_statuses:
            rollout = one.rollout
            stepping = (
                rollout is not None and rollout.candidate and rollout.phase in ("Starting", "Stepping", "Promoting")
            )
            if rollout is not None and stepping:
                # The share that is known is that of both; how it is divided is on the page of the service.
                versions = [(rollout.stable, False), (rollout.candidate, True)]
            else:
                versions = [(one.model_version, False)]
            for version, canary in versions:
                if version:
                    serving = Serving(
                        service=name,
                        predictor=one.name,
                        percent=None if stepping else one.traffic_percent,
                        canary=canary,
                    )
                    found.setdefault(ObjectKey(namespace, version), []).append(serving)
    return found


def _model_row(model: ShownModel, users: Iterable[str]) -> ModelRow:
    latest = model.status.latest_version
    return ModelRow(
        namespace=model.metadata.namespace,
        name=model.metadata.name,
        description=model.spec.description[:LONGEST_MESSAGE],
        versions=model.status.version_count,
        latest=latest.model_version if latest is not None else "",
        served_by=sorted(users),
        created=model.metadata.creation_timestamp,
    )
