"""Plans the writes for an Inference, in an order that drops no requests. Pure.

New workloads come first, then the route to them. Unused ones are deleted last, when no gateway sends them traffic. A
plan is data. If it depends on something that only the API server knows, it contains questions instead, and planning is
repeated with the answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from kubedl.api.inference import INFERENCES
from kubedl.kube.errors import ApiError
from kubedl.kube.types.apps import DEPLOYMENTS, Deployment
from kubedl.kube.types.core import SERVICES
from kubedl.kube.types.meta import Object, Resource
from kubedl.podspec.template import TemplateError
from kubedl.runtime.ownership import owner_reference
from kubedl.serving import routing
from kubedl.serving.inquiry import Question, UnansweredError
from kubedl.serving.naming import CANDIDATE, INFERENCE, INFERENCE_UID, STABLE, predictor_name
from kubedl.serving.observed import Observed, Problem
from kubedl.serving.predictor_plan import PredictorPlan, backends, names_of, plan_predictor, replicas, scaled
from kubedl.serving.routing import HTTPRoute
from kubedl.serving.status import Endpoints
from kubedl.serving.workload import autoscaling, delivery, deployment
from kubedl.serving.workload.model_init_container import Program
from kubedl.serving.workload.template import Body


@dataclass(frozen=True)
class Settings:
    """Settings of the operator for all Inferences."""

    program: Program  # the loader
    endpoints: Endpoints


@dataclass(frozen=True)
class Apply:
    """An object to apply, and the current one, if any."""

    resource: Resource[Any]
    body: Body
    current: Any = None
    replicas: int | None = None  # initial size of a new Deployment; None: the default of Kubernetes


@dataclass(frozen=True)
class Scale:
    """A Deployment to scale."""

    deployment: Deployment
    replicas: int


@dataclass(frozen=True)
class PredictorWrites:
    """The writes for one predictor; each depends on the ones before it."""

    predictor: str
    objects: tuple[Apply, ...] = ()
    failure: TemplateError | ApiError | None = None  # why the remaining objects cannot be rendered
    sizes: tuple[Apply | Scale, ...] = ()  # the autoscaler or, if the operator scales, the replicas; written last


@dataclass(frozen=True)
class Plan:
    """The plan of an Inference. Its fields are in the order of the writes."""

    predictors: tuple[PredictorPlan, ...] = ()
    writes: tuple[PredictorWrites, ...] = ()
    route: Apply | None = None
    delete_route: HTTPRoute | None = None
    shares: Mapping[str, int] = field(default_factory=dict)  # current weight of each Service in the route
    service: Apply | None = None  # the Service of the Inference itself
    deletions: tuple[tuple[Resource[Any], Object], ...] = ()
    again: tuple[timedelta, ...] = ()  # until workloads to delete get no more traffic
    inquire: tuple[Question, ...] = ()  # to be answered before planning again


def plan(observed: Observed, settings: Settings) -> Plan:
    """Move as far towards the desired state as is safe now."""
    predictors = tuple(plan_predictor(observed, predictor) for predictor in observed.inference.spec.predictors)
    held, leaving = _is_held(observed, predictors), _Leaving(observed)
    writes: list[PredictorWrites] = []
    questions: list[Question] = []
    deletions = _deletions(observed, predictors, leaving, held=held)
    for predictor in predictors:
        try:
            writes.append(_writes(observed, predictor, settings.program, leaving))
        except UnansweredError as error:
            questions.append(error.question)
    if questions:
        return Plan(predictors, inquire=tuple(dict.fromkeys(questions)))
    without_gateway = isinstance(observed.gateway, Problem)
    return Plan(
        predictors,
        tuple(writes),
        route=_route(observed, predictors, settings.endpoints, held=held),
        delete_route=observed.route if without_gateway else None,
        shares={} if without_gateway else routing.shares(observed.route),
        service=_service(observed, predictors, held=held),
        deletions=deletions,
        again=tuple(leaving.again),
    )


class _Leaving:
    """Which workloads get no more traffic, and when to check the others again."""

    def __init__(self, observed: Observed) -> None:
        self._observed = observed
        self.again: list[timedelta] = []

    def has_left(self, name: str) -> bool:
        """Return whether no gateway sends it traffic any more, and otherwise note when to check again."""
        left = routing.until_left(self._observed.route, name, self._observed.now)
        if left:
            self.again.append(left)
        return left == timedelta()


def _writes(observed: Observed, predictor: PredictorPlan, program: Program, leaving: _Leaving) -> PredictorWrites:
    objects: list[Apply] = []
    failure: TemplateError | ApiError | None = None
    try:
        for servers in (predictor.stable, predictor.candidate):
            if servers is None:
                continue
            objects.append(Apply(SERVICES, deployment.service(servers), observed.services.get(servers.name)))
            found, body = observed.deployments.get(servers.name), delivery.render(observed, servers, program)
            first = _first_size(observed, predictor, servers.track) if found is None else None
            objects.append(Apply(DEPLOYMENTS, body, found, first))
    except (TemplateError, ApiError) as error:
        failure = error
    return PredictorWrites(predictor.predictor.name, tuple(objects), failure, _sizes(observed, predictor, leaving))


def _first_size(observed: Observed, predictor: PredictorPlan, track: str) -> int | None:
    wanted = replicas(observed, predictor, track)
    return wanted if wanted is not None else autoscaling.first_replicas(predictor.predictor)


def _sizes(observed: Observed, predictor: PredictorPlan, leaving: _Leaving) -> tuple[Apply | Scale, ...]:
    sizes: list[Apply | Scale] = []
    autoscaler = (
        autoscaling.scaler(observed.inference, scaled(observed, predictor)) if predictor.stable is not None else None
    )
    if autoscaler is not None:
        resource, body = autoscaler
        there = (
            scaler
            for kind, scaler in observed.scalers
            if kind is resource and scaler.metadata.name == body["metadata"]["name"]
        )
        sizes.append(Apply(resource, body, next(there, None)))
    for track in (STABLE, CANDIDATE):
        wanted = replicas(observed, predictor, track)
        found = observed.deployments.get(predictor_name(observed.inference, predictor.predictor.name, track))
        if found is None or wanted is None or found.spec.replicas == wanted:
            continue
        if track == CANDIDATE and not predictor.state.candidate:
            continue  # keeps the number of replicas
        if wanted or leaving.has_left(found.metadata.name):
            sizes.append(Scale(found, wanted))
    return tuple(sizes)


def _route(
    observed: Observed, predictors: Sequence[PredictorPlan], endpoints: Endpoints, *, held: bool
) -> Apply | None:
    """Return the route if it changes."""
    ends = [end for predictor in predictors for end in backends(observed, predictor)]
    if isinstance(observed.gateway, Problem) or (not ends and observed.route is None):
        return None
    if observed.route is not None and held:
        return None
    meta = observed.inference.metadata
    body = routing.route(
        meta.name,
        meta.namespace,
        endpoints.host(observed),
        observed.gateway,
        ends,
        owner_reference(INFERENCES, observed.inference),
        timeouts=observed.inference.spec.timeouts,
        current=observed.route,
        now=observed.now,
    )
    body["metadata"]["labels"] = {INFERENCE: meta.name, INFERENCE_UID: meta.uid}
    if observed.route is not None and routing.says(observed.route, body):
        return None
    return Apply(routing.HTTP_ROUTES, body, observed.route)


def _service(observed: Observed, predictors: Sequence[PredictorPlan], *, held: bool) -> Apply | None:
    only = predictors[0].stable if len(predictors) == 1 else None
    if only is None or held:
        return None
    try:
        body = deployment.inference_service(only)
    except TemplateError:
        return None  # reported with the predictor
    return Apply(SERVICES, body, observed.services.get(observed.inference.metadata.name))


def _deletions(
    observed: Observed, predictors: Sequence[PredictorPlan], leaving: _Leaving, *, held: bool
) -> tuple[tuple[Resource[Any], Object], ...]:
    wanted = {
        (made[0], made[1]["metadata"]["name"])
        for predictor in predictors
        if (made := autoscaling.scaler(observed.inference, predictor.predictor)) is not None
    }
    unneeded: list[tuple[Resource[Any], Object]] = [
        (resource, scaler)
        for resource, scaler in observed.scalers
        if (resource, scaler.metadata.name) not in wanted and scaler.metadata.deletion_timestamp is None
    ]
    if held:
        return tuple(unneeded)
    kept = _kept(observed, predictors)
    unneeded += [
        (resource, found)
        for resource, there in ((DEPLOYMENTS, observed.deployments), (SERVICES, observed.services))
        for name, found in there.items()
        if name not in kept and found.metadata.deletion_timestamp is None and leaving.has_left(name)
    ]
    return tuple(unneeded)


def _kept(observed: Observed, predictors: Sequence[PredictorPlan]) -> set[str]:
    """Return the names of objects that must not be deleted."""
    kept = {name for predictor in predictors for name in names_of(predictor, observed)}
    return kept | {observed.inference.metadata.name} if len(predictors) == 1 else kept


def _is_held(observed: Observed, predictors: Sequence[PredictorPlan]) -> bool:
    """Return whether a workload to delete still serves while none of the others is ready: then nothing is deleted."""
    ends = [end for predictor in predictors for end in backends(observed, predictor) if end.weight]
    if any(end.ready for end in ends) or all(one.is_off for one in predictors):
        return False
    # A canary that is rolled back is deleted in any case.
    tried = {predictor_name(observed.inference, one.predictor.name, CANDIDATE) for one in predictors}
    staying = _kept(observed, predictors) | tried | {observed.inference.metadata.name}
    return any(observed.endpoints.get(name, 0) > 0 for name in observed.services if name not in staying)
