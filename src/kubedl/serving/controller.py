"""The loop around an Inference: look, decide, provide, say how it is.

A rollout's next step is written to the status in the same pass in which it takes effect, and follows from what was
written before and from what is there; an operator that dies on the way finds the one or the other.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from kubedl.api.conditions import find
from kubedl.api.inference import GROUP, INFERENCES, Inference, InferenceStatus, Predictor
from kubedl.api.inference_rollout import RolloutStatus
from kubedl.api.model import ModelVersion
from kubedl.runtime.events import Recorder, Reference
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import Store
from kubedl.runtime.writer import Writer, belongs, merge_changes
from kubedl.schema.rbac import FOLLOW, READ, Grant
from kubedl.serving import rollout
from kubedl.serving.applier import Applier
from kubedl.serving.arrangement import Arrangement, advanced, arrange
from kubedl.serving.measuring import Measurements
from kubedl.serving.objects import (
    AUTOSCALERS,
    CANDIDATE,
    HTTP,
    SCALED_OBJECTS,
    Deployment,
    EndpointSlice,
    Scaler,
    identity,
    name_of,
    ready_endpoints,
)
from kubedl.serving.outcome import Outcome
from kubedl.serving.provision import KEDA_MISSING, Provisioner, soonest
from kubedl.serving.queries import Target
from kubedl.serving.sight import Sight, Trouble
from kubedl.serving.status import READY, ROLLED_BACK, Place, needs_gateway, patience, settling, stated
from kubedl.serving.traffic import GROUP as GATEWAY_API
from kubedl.serving.traffic import HTTP_ROUTES, GatewayRef, HTTPRoute
from kubedl.serving.verdict import PENDING
from kubedl.wire import codec
from kubedl.wire.core import Pod, Service
from kubedl.wire.meta import Key, Object, Resource

BY_LABEL, BY_NAMESPACE = "label", "namespace"
NOT_FILLED, NOT_THERE = 2.0, timedelta(seconds=30)
NO_GATEWAY = Trouble(
    "NoGateway",
    "more than one predictor, or a rollout, needs a Gateway: set spec.gateway, or ask your administrator to set the "
    "operator's --gateway",
)
NO_API = Trouble(
    "GatewayApiNotInstalled",
    f"the cluster has no {HTTP_ROUTES.name}: install the Gateway API and a gateway controller",
)

GRANTS = (
    Grant(GROUP, ("inferences",), FOLLOW, "Follow Inferences."),
    Grant(GROUP, ("inferences",), ("patch",), "Take away the annotation by which a person promotes or aborts."),
    Grant(GROUP, ("inferences/status",), ("patch",), "Say how Inferences are."),
    Grant(GROUP, ("inferences/finalizers",), ("update",), "Own what belongs to an Inference."),
    Grant("apps", ("deployments",), (*READ, "create", "patch", "delete"), "The servers of predictors."),
    Grant("", ("services",), (*READ, "create", "patch", "delete"), "The addresses of predictors."),
    Grant("", ("pods",), (*READ, "create"), "Say why a server is not ready; ask, as a dry run, what is left of a pod."),
    Grant("", ("serviceaccounts",), ("get",), "Add a model's pull secret to those that the account gives a server."),
    Grant("discovery.k8s.io", ("endpointslices",), FOLLOW, "See which predictors answer."),
    Grant(
        "autoscaling",
        ("horizontalpodautoscalers",),
        (*READ, "create", "patch", "delete"),
        "Scale predictors with their load.",
    ),
    Grant("keda.sh", ("scaledobjects",), (*READ, "create", "patch", "delete"), "Have KEDA scale predictors."),
    Grant(GATEWAY_API, ("httproutes",), (*READ, "create", "patch", "delete"), "Share requests among predictors."),
)


@dataclass(frozen=True)
class Caches:
    """What the controller reads. Some kinds may be missing in a cluster, so their reflectors are asked too."""

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
        caches: Caches,
        writer: Writer,
        applier: Applier,
        provisioner: Provisioner,
        recorder: Recorder,
        *,
        place: Place,
        gateway: GatewayRef | None,
        measurements: Measurements,
        clock: Callable[[], datetime],
    ) -> None:
        self._caches = caches
        self._writer = writer
        self._applier = applier
        self._provisioner = provisioner
        self._recorder = recorder
        self._place = place
        self._gateway = gateway
        self._measurements = measurements
        self._clock = clock

    def inferences_with(self, version: ModelVersion) -> Iterable[Key]:
        """The Inferences that serve a version, or wait for it."""
        meta = version.metadata
        for inference in self._caches.inferences.by(BY_NAMESPACE, meta.namespace):
            if meta.name in _versions(inference):
                yield inference.metadata.key

    async def reconcile(self, key: Key) -> float | None:
        """Look at one Inference; returns in how many seconds to look again without being asked."""
        inference = self._caches.inferences.get(key)
        if inference is None or inference.metadata.deletion_timestamp is not None:
            self._measurements.keep(key, ())
            return None  # the garbage collector takes what belongs to it
        optional = (self._caches.routes, self._caches.scaled)
        if not all(source.synced.is_set() or source.absent for source in optional):
            return NOT_FILLED  # a route that is not seen yet would be made anew
        sight = self._observe(inference)
        arrangements = [self._arranged(sight, one) for one in inference.spec.predictors]
        self._measurements.keep(key, [_target(sight, one.predictor) for one in arrangements if one.state.candidate])
        outcome = await self._provisioner.provide(sight, arrangements)
        status = stated(sight, arrangements, outcome, self._place)
        if not await self._write_status(inference, status):
            await self._answer(inference)
        if outcome.refusal is not None:
            raise outcome.refusal  # the queue waits longer each time
        times = [rollout.until_next(one.plan, one.state, sight.now) for one in arrangements]
        times += patience(sight), settling(sight, arrangements)
        return soonest([*times, *outcome.again, NOT_THERE if _waits(sight, arrangements, outcome) else None])

    def _observe(self, inference: Inference) -> Sight:
        caches, meta = self._caches, inference.metadata
        own = identity(meta.namespace, meta.uid)
        route = caches.routes.store.get(meta.key)
        versions = (caches.versions.get(Key(meta.namespace, name)) for name in _versions(inference))
        scalers: list[tuple[Resource[Any], Scaler]] = [
            *((AUTOSCALERS, one) for one in caches.autoscalers.owned_by(inference)),
            *((SCALED_OBJECTS, one) for one in caches.scaled.store.owned_by(inference)),
        ]
        return Sight(
            inference=inference,
            now=self._clock(),
            versions={one.metadata.name: one for one in versions if one is not None},
            deployments={one.metadata.name: one for one in caches.deployments.owned_by(inference)},
            services={one.metadata.name: one for one in caches.services.owned_by(inference)},
            endpoints=ready_endpoints(caches.slices.by(BY_LABEL, own)),
            pods=tuple(caches.pods.by(BY_LABEL, own)),
            scalers=tuple(scalers),
            route=route if route is not None and belongs(route, inference) else None,
            gateway=self._gateway_of(inference),
        )

    def _gateway_of(self, inference: Inference) -> GatewayRef | Trouble:
        if self._caches.routes.absent:
            return NO_API
        wish = inference.spec.gateway
        if wish is not None:
            return GatewayRef(wish.name, wish.namespace or inference.metadata.namespace, wish.section_name)
        return self._gateway or NO_GATEWAY

    def _arranged(self, sight: Sight, predictor: Predictor) -> Arrangement:
        before = arrange(sight, predictor)
        plan, state, verdict = before.plan, before.state, PENDING
        if plan is not None and state.phase == "Stepping":
            key, target = sight.inference.metadata.key, _target(sight, predictor)
            since = state.step_since or state.since or sight.now
            verdict = self._measurements.verdict(key, plan.bounds, target, since, sight.now)
        return advanced(sight, before, verdict)

    async def _answer(self, inference: Inference) -> None:
        """Take a person's word away that is done, which the status has said before."""
        word = rollout.said(inference.metadata.annotations)
        states = [one.rollout for one in inference.status.predictor_statuses if one.rollout is not None]
        if not word.text or not all(rollout.is_done(one, word) for one in states):
            return
        objection = _objection(inference, word, states)
        if objection is not None:
            message = f"annotation {rollout.ANNOTATION}={word.text} was ignored: {objection.message}"
            self._tell(inference, objection.reason, message, "Warning")
        instead = {rollout.ANSWERED: str(word.number)}
        await self._applier.take_away(INFERENCES, inference, rollout.ANNOTATION, instead)

    async def _write_status(self, inference: Inference, status: InferenceStatus) -> bool:
        changes = merge_changes(codec.plain(inference.status), codec.plain(status))
        if not changes:
            return False
        await self._writer.patch_status(INFERENCES, inference, changes)
        for kind, quiet in ((READY, "True"), (ROLLED_BACK, "False")):
            before, said = (find(one.conditions, kind) for one in (inference.status, status))
            if said is not None and (before is None or before.reason != said.reason):
                self._tell(inference, said.reason, said.message, "Normal" if said.status == quiet else "Warning")
        return True

    def _tell(self, about: Object, reason: str, message: str, kind: Literal["Normal", "Warning"]) -> None:
        meta = about.metadata
        reference = Reference(INFERENCES.api_version, INFERENCES.kind, meta.namespace, meta.name, meta.uid)
        self._recorder.event(reference, kind, reason, message)


def _objection(inference: Inference, word: rollout.Word, states: Sequence[RolloutStatus]) -> Trouble | None:
    """Why nothing came of a person's word."""
    names = [one.name for one in inference.spec.predictors]
    if word.command not in rollout.WORDS:
        return Trouble("UnknownWord", f"the value is one of {', '.join(rollout.WORDS)}, or one of them with :PREDICTOR")
    if word.predictor and word.predictor not in names:
        return Trouble("UnknownPredictor", f"no predictor has this name; there are {', '.join(names)}")
    if inference.spec.rollout is None and all(one.reason != rollout.PROMOTED_BY_HAND for one in states):
        return Trouble("NoRollout", "the Inference has no spec.rollout")
    return None


def _target(sight: Sight, predictor: Predictor) -> Target:
    """The version of a predictor that is tried, as it is measured."""
    return Target(sight.inference.metadata.namespace, name_of(sight.inference, predictor.name, CANDIDATE), HTTP)


def _waits(sight: Sight, arrangements: Sequence[Arrangement], outcome: Outcome) -> bool:
    """Whether something is to be installed in the cluster, of which nobody will tell us."""
    if any(one.reason == KEDA_MISSING for one in outcome.troubles.values()):
        return True
    refused = any(one.trouble is not None and one.trouble.reason == NO_API.reason for one in arrangements)
    return isinstance(sight.gateway, Trouble) and (refused or needs_gateway(arrangements))


def _versions(inference: Inference) -> set[str]:
    """Of all that it serves, tries, or waits for."""
    states = [one.rollout for one in inference.status.predictor_statuses if one.rollout is not None]
    names = [one.model_version for one in inference.spec.predictors]
    return {name for name in (*names, *(n for one in states for n in (one.stable, one.candidate))) if name}
