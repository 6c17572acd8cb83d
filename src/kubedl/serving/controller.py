"""Controller of Inferences: observe, plan, apply, write the status.

The next step of a rollout is written to the status in the pass in which it takes effect. It depends only on the
previous status and the observed state, so a restarted operator continues from either.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from kubedl.api.conditions import turned
from kubedl.api.inference import INFERENCES, Inference, InferenceStatus, Predictor
from kubedl.api.inference_rollout import RolloutStatus
from kubedl.api.model import ModelVersion
from kubedl.kube.types.apps import Deployment
from kubedl.kube.types.autoscaling import AUTOSCALERS, SCALED_OBJECTS, Scaler
from kubedl.kube.types.core import Pod, Service
from kubedl.kube.types.discovery import EndpointSlice, ready_endpoints
from kubedl.kube.types.meta import ObjectKey, Resource
from kubedl.runtime.events import EventRecorder, EventType, ObjectReference
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.server_side_apply import Applier
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer, is_controlled_by
from kubedl.serving.apply import Applicator
from kubedl.serving.apply_result import KEDA_MISSING, ApplyResult
from kubedl.serving.inquiry import ask
from kubedl.serving.naming import CANDIDATE, HTTP, identity, predictor_name
from kubedl.serving.observed import Observed, Problem
from kubedl.serving.plan import Plan, Settings, plan
from kubedl.serving.predictor_plan import PredictorPlan, taken_up
from kubedl.serving.rollout import commands, state_machine
from kubedl.serving.rollout.analysis import AnalysisResult
from kubedl.serving.rollout.analysis_runner import AnalysisRunner
from kubedl.serving.rollout.promql import Target
from kubedl.serving.routing import HTTP_ROUTES, GatewayRef, HTTPRoute
from kubedl.serving.status import READY, ROLLED_BACK, build_status, needs_gateway, patience, settling

BY_LABEL, BY_NAMESPACE = "label", "namespace"
NOT_FILLED, NOT_THERE = 2.0, timedelta(seconds=30)
NO_GATEWAY = Problem(
    "NoGateway",
    "more than one predictor, or a rollout, needs a Gateway: set spec.gateway, or ask your administrator to set the "
    "operator's --gateway",
)
NO_API = Problem(
    "GatewayApiNotInstalled",
    f"the cluster has no {HTTP_ROUTES.name}: install the Gateway API and a gateway controller",
)


@dataclass(frozen=True)
class Informers:
    """The informers of the controller. Some kinds may be missing in a cluster, so their reflectors are needed too."""

    inferences: Store[Inference]  # with the index BY_NAMESPACE
    versions: Store[ModelVersion]
    deployments: Store[Deployment]
    services: Store[Service]
    autoscalers: Store[Scaler]
    slices: Store[EndpointSlice]  # these with the index BY_LABEL
    pods: Store[Pod]
    routes: Reflector[HTTPRoute]
    scaled: Reflector[Scaler]


class InferenceController:
    """Reconciles Inferences."""

    def __init__(  # noqa: PLR0913 - what is put together in one place
        self,
        informers: Informers,
        writer: Writer,
        applier: Applier,
        recorder: EventRecorder,
        *,
        settings: Settings,
        gateway: GatewayRef | None,
        measurements: AnalysisRunner,
        clock: Callable[[], datetime],
    ) -> None:
        self._informers = informers
        self._writer = writer
        self._applier = applier
        self._applicator = Applicator(writer, applier)
        self._recorder = recorder
        self._settings = settings
        self._gateway = gateway
        self._measurements = measurements
        self._clock = clock

    def inferences_with(self, version: ModelVersion) -> Iterable[ObjectKey]:
        """Return the keys of the Inferences that serve a version, or wait for it."""
        meta = version.metadata
        for inference in self._informers.inferences.by_index(BY_NAMESPACE, meta.namespace):
            if meta.name in _versions(inference):
                yield inference.metadata.key

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Reconcile one Inference; returns after how many seconds to reconcile again."""
        inference = self._informers.inferences.get(key)
        if inference is None or inference.metadata.deletion_timestamp is not None:
            self._measurements.keep(key, ())
            return None  # its dependents are garbage-collected
        optional = (self._informers.routes, self._informers.scaled)
        if not all(source.synced.is_set() or source.absent for source in optional):
            return NOT_FILLED  # a route missing from the cache would be created again
        observed, decided = await self._decide(self._observe(inference))
        trials = [_target(observed, one.predictor) for one in decided.predictors if one.state.candidate]
        self._measurements.keep(key, trials)
        result = await self._applicator.apply(inference, decided)
        status = build_status(observed, decided.predictors, result, self._settings.endpoints)
        if not await self._write_status(inference, status):
            await self._acknowledge_command(inference)
        if result.refusal is not None:
            raise result.refusal  # the queue's backoff increases
        times = [state_machine.until_next(one.plan, one.state, observed.now) for one in decided.predictors]
        times += patience(observed), settling(observed, decided.predictors), *decided.again
        times += [NOT_THERE] if _waits(observed, decided.predictors, result) else []
        return min((duration.total_seconds() for duration in times if duration is not None), default=None)

    async def _decide(self, observed: Observed) -> tuple[Observed, Plan]:
        """Plan, and plan again with the answers while the plan has questions."""
        decided = plan(observed, self._settings)
        while decided.inquire:
            answers = {question: await ask(self._writer.client, question) for question in decided.inquire}
            observed = replace(observed, answers={**observed.answers, **answers})
            decided = plan(observed, self._settings)
        return observed, decided

    def _observe(self, inference: Inference) -> Observed:
        informers, meta = self._informers, inference.metadata
        own = identity(meta.namespace, meta.uid)
        route = informers.routes.store.get(meta.key)
        versions = (informers.versions.get(ObjectKey(meta.namespace, name)) for name in _versions(inference))
        scalers: list[tuple[Resource[Any], Scaler]] = [
            *((AUTOSCALERS, autoscaler) for autoscaler in informers.autoscalers.owned_by(inference)),
            *((SCALED_OBJECTS, one) for one in informers.scaled.store.owned_by(inference)),
        ]
        deployments = informers.deployments.owned_by(inference)
        observed = Observed(
            inference=inference,
            now=self._clock(),
            versions={version.metadata.name: version for version in versions if version is not None},
            deployments={deployment.metadata.name: deployment for deployment in deployments},
            services={service.metadata.name: service for service in informers.services.owned_by(inference)},
            endpoints=ready_endpoints(informers.slices.by_index(BY_LABEL, own)),
            pods=tuple(informers.pods.by_index(BY_LABEL, own)),
            scalers=tuple(scalers),
            route=route if route is not None and is_controlled_by(route, inference) else None,
            gateway=self._gateway_of(inference),
            edited=frozenset(one.metadata.name for one in deployments if self._applier.is_edited(one)),
        )
        return replace(observed, analyses=self._analyses(observed))

    def _gateway_of(self, inference: Inference) -> GatewayRef | Problem:
        if self._informers.routes.absent:
            return NO_API
        gateway = inference.spec.gateway
        if gateway is not None:
            return GatewayRef(gateway.name, gateway.namespace or inference.metadata.namespace, gateway.section_name)
        return self._gateway or NO_GATEWAY

    def _analyses(self, observed: Observed) -> dict[str, AnalysisResult]:
        """Return the analysis results of the canaries, by predictor."""
        key, analyses = observed.inference.metadata.key, {}
        for predictor in observed.inference.spec.predictors:
            trial = taken_up(observed, predictor)
            if trial.plan is not None and trial.state.phase == "Stepping":
                since = trial.state.step_since or trial.state.since or observed.now
                target = _target(observed, predictor)
                analyses[predictor.name] = self._measurements.result(
                    key, trial.plan.bounds, target, since, observed.now
                )
        return analyses

    async def _acknowledge_command(self, inference: Inference) -> None:
        """Remove the command annotation once the status records it."""
        command = commands.pending_command(inference.metadata.annotations)
        states = [status.rollout for status in inference.status.predictor_statuses if status.rollout is not None]
        if not command.text or not all(commands.is_handled(rollout, command) for rollout in states):
            return
        objection = _objection(inference, command, states)
        if objection is not None:
            message = f"annotation {commands.ANNOTATION}={command.text} was ignored: {objection.message}"
            self._recorder.event(ObjectReference.of(INFERENCES, inference), "Warning", objection.reason, message)
        instead = {commands.ANSWERED: str(command.number)}
        await self._applier.remove_annotation(INFERENCES, inference, commands.ANNOTATION, instead)

    async def _write_status(self, inference: Inference, status: InferenceStatus) -> bool:
        if not await self._writer.write_status(INFERENCES, inference, status):
            return False
        for kind, quiet in ((READY, "True"), (ROLLED_BACK, "False")):
            condition = turned(inference.status.conditions, status.conditions, kind)
            if condition is not None:
                event_type: EventType = "Normal" if condition.status == quiet else "Warning"
                about = ObjectReference.of(INFERENCES, inference)
                self._recorder.event(about, event_type, condition.reason, condition.message)
        return True


def _objection(inference: Inference, command: commands.Command, states: Sequence[RolloutStatus]) -> Problem | None:
    """Return why a command had no effect."""
    names = [predictor.name for predictor in inference.spec.predictors]
    if command.command not in commands.COMMANDS:
        return Problem("UnknownCommand", f"valid values are {', '.join(commands.COMMANDS)}, optionally with :PREDICTOR")
    if command.predictor and command.predictor not in names:
        return Problem("UnknownPredictor", f"there is no predictor with this name; predictors are {', '.join(names)}")
    if inference.spec.rollout is None and all(rollout.reason != state_machine.PROMOTED_BY_HAND for rollout in states):
        return Problem("NoRollout", "the Inference has no spec.rollout")
    return None


def _target(observed: Observed, predictor: Predictor) -> Target:
    """Return the canary of a predictor, as the subject of analysis."""
    return Target(
        observed.inference.metadata.namespace, predictor_name(observed.inference, predictor.name, CANDIDATE), HTTP
    )


def _waits(observed: Observed, predictor_plans: Sequence[PredictorPlan], outcome: ApplyResult) -> bool:
    """Return whether a missing kind must be polled for, since no watch reports its installation."""
    if any(problem.reason == KEDA_MISSING for problem in outcome.problems.values()):
        return True
    refused = any(one.problem is not None and one.problem.reason == NO_API.reason for one in predictor_plans)
    return isinstance(observed.gateway, Problem) and (refused or needs_gateway(predictor_plans))


def _versions(inference: Inference) -> set[str]:
    """Return the versions that it serves, rolls out, or waits for."""
    states = [status.rollout for status in inference.status.predictor_statuses if status.rollout is not None]
    names = [predictor.model_version for predictor in inference.spec.predictors]
    return {name for name in (*names, *(n for rollout in states for n in (rollout.stable, rollout.candidate))) if name}
