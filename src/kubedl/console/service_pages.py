"""What the API answers about services: predictors, their shares of the traffic, and rollouts."""

from dataclasses import dataclass

from kubedl.api.conditions import find
from kubedl.api.inference import PredictorStatus
from kubedl.api.inference_rollout import RolloutStatus
from kubedl.console.listing import Listing
from kubedl.console.object_kinds import INFERENCES, MODEL_VERSIONS, ShownInference
from kubedl.console.people import Caller
from kubedl.console.problems import RefusalError
from kubedl.console.rows import LONGEST_MESSAGE
from kubedl.console.served import runs
from kubedl.console.wire_models import PredictorRow, RolloutRow, ServiceList, ServiceRow, StepRow, VersionShare
from kubedl.history.observed import RecordedPredictor
from kubedl.kube.types.meta import ObjectKey


@dataclass(frozen=True)
class ServicePages:
    """Answers for one caller at a time."""

    listing: Listing

    async def services(self, caller: Caller, search: str) -> ServiceList:
        """Return the services whose names contain a text."""
        listed = await self.listing.visible(caller, INFERENCES, self.listing.stores.inferences)
        found, more = listed.named(search)
        return ServiceList(
            installed=self.listing.installed(INFERENCES),
            rows=[await self._row(caller, one) for one in found],
            more=more,
            missing=listed.missing,
        )

    async def service(self, caller: Caller, key: ObjectKey) -> ServiceRow:
        """Return one service."""
        return await self._row(caller, await self.visible(caller, key))

    async def visible(self, caller: Caller, key: ObjectKey) -> ShownInference:
        """Return a service. One that the person may not see is refused alike, whether it exists or not."""
        await self.listing.insist(caller, INFERENCES, key.namespace)
        found = self.listing.stores.inferences.get(key)
        if found is None:
            raise RefusalError(
                404, f"no Inference {key}", "it does not exist, or was deleted", "Look in the list of services."
            )
        return found

    async def _row(self, caller: Caller, service: ShownInference) -> ServiceRow:
        spec, status, meta = service.spec, service.status, service.metadata
        ready = find(status.conditions, "Ready")
        said = {one.name: one for one in status.predictor_statuses}
        names_models = await self.listing.rights.list_in(caller, MODEL_VERSIONS.name, meta.namespace)
        return ServiceRow(
            namespace=meta.namespace,
            name=meta.name,
            framework=spec.framework,
            ready=ready.status if ready is not None else "",
            reason=ready.reason if ready is not None else "",
            message=ready.message[:LONGEST_MESSAGE] if ready is not None else "",
            endpoint=status.inference_endpoint,
            predictors=[
                self._predictor(service, one, said.get(one.name), names_models=names_models) for one in spec.predictors
            ],
            steps=[StepRow(weight=one.weight, pause=one.pause) for one in spec.rollout.steps] if spec.rollout else (),
            created=meta.creation_timestamp,
        )

    def _predictor(
        self,
        service: ShownInference,
        wanted: RecordedPredictor,
        said: PredictorStatus | None,
        *,
        names_models: bool,
    ) -> PredictorRow:
        name = said.model_version if said is not None and said.model_version else wanted.model_version

        def model_of(version: str) -> str:
            key = ObjectKey(service.metadata.namespace, version)
            found = self.listing.stores.versions.get(key) if names_models else None
            return found.spec.model_name if found is not None else ""

        shares = runs(said, service.spec.rollout) if said is not None else ()
        return PredictorRow(
            name=wanted.name,
            model_version=name,
            model=model_of(name),
            replicas=said.replicas if said is not None else 0,
            ready=said.ready_replicas if said is not None else 0,
            weight=wanted.traffic_weight,
            percent=said.traffic_percent if said is not None else None,
            reason=said.reason if said is not None else "",
            message=said.message[:LONGEST_MESSAGE] if said is not None else "",
            rollout=_rollout(said.rollout) if said is not None and said.rollout is not None else None,
            runs=[
                VersionShare(version=one.version, model=model_of(one.version), percent=one.percent, canary=one.canary)
                for one in shares
            ],
        )


def _rollout(status: RolloutStatus) -> RolloutRow:
    return RolloutRow(
        phase=status.phase,
        stable=status.stable,
        candidate=status.candidate,
        rejected=status.rejected,
        step=status.step,
        since=status.since,
        reason=status.reason,
        message=status.message[:LONGEST_MESSAGE],
    )
