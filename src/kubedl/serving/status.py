"""Builds the status of an Inference: its conditions, and the state of each predictor. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubedl.api.conditions import Condition, find, is_true, set_condition
from kubedl.api.inference import InferenceStatus, PredictorStatus
from kubedl.serving import routing
from kubedl.serving.apply_result import ENTRANCE, ROUTE, ApplyResult
from kubedl.serving.naming import CANDIDATE, HTTP, STABLE, predictor_name
from kubedl.serving.observed import Observed, Problem
from kubedl.serving.pod_diagnostics import diagnose
from kubedl.serving.predictor_plan import PredictorPlan, backends, written
from kubedl.serving.routing import GatewayRef
from kubedl.serving.workload.deployment import IMAGE, LOADER, MODEL_VERSION

READY, ROUTED, NAMED, ROLLED_BACK = "Ready", "Routed", "Named", "RolledBack"
SERVING = Problem("Serving", "every predictor has ready pods")
NO_ROUTE = Problem("NoRoute", "the HTTPRoute does not exist yet")
NOTICED = routing.SETTLING + timedelta(seconds=1)  # timestamps of pods are whole seconds
SETTLES = Problem("GatewaySettles", "every predictor has ready pods; the gateway needs a moment to notice them")


@dataclass(frozen=True)
class Endpoints:
    """The domains of Inferences."""

    cluster_domain: str = "cluster.local"
    domain: str = "inference.local"  # domain of the host names of Inferences

    def host(self, observed: Observed) -> str:
        """Return the URL at the gateway."""
        meta = observed.inference.metadata
        return routing.hostname(meta.name, meta.namespace, self.domain)

    def address(self, observed: Observed, service: str) -> str:
        """Return the URL inside the cluster."""
        return f"http://{service}.{observed.inference.metadata.namespace}.svc.{self.cluster_domain}:{HTTP}"


def needs_gateway(predictor_plans: Sequence[PredictorPlan]) -> bool:
    """Return whether traffic is split: among predictors, or between two versions of one."""
    return len(predictor_plans) > 1 or any(plan.state.candidate for plan in predictor_plans)


def build_status(
    observed: Observed, predictor_plans: Sequence[PredictorPlan], outcome: ApplyResult, place: Endpoints
) -> InferenceStatus:
    """Return the status, after the plan was applied."""
    inference, problems = observed.inference, outcome.problems
    shares = _shares(observed, predictor_plans, outcome)
    predictors = tuple(_predictor(observed, plan, shares, problems, place) for plan in predictor_plans)
    routed = problems.get(ROUTE) or _routed(observed, predictor_plans)
    old = inference.status
    # A single predictor is also reachable at its Service, whatever happens to the optional route. But users take the
    # URL in the status once it is ready, so wait for a gateway that may still accept the route.
    is_awaited = (routed is NO_ROUTE and not _is_ready(observed)) or patience(observed) is not None
    hinders = routed if _is_asked_for(observed, predictor_plans) or is_awaited else None
    if routed is None and settling(observed, predictor_plans) is not None:
        hinders = SETTLES
    conditions = _with(observed, old.conditions, READY, _worst(observed, predictor_plans, predictors, hinders))
    if routed is not None or isinstance(observed.gateway, GatewayRef):
        conditions = _with(observed, conditions, ROUTED, routed, good=_taken(observed))
    else:
        conditions = _without(conditions, ROUTED)
    nameless = problems.get(ENTRANCE)
    conditions = _without(conditions, NAMED) if nameless is None else _with(observed, conditions, NAMED, nameless)
    conditions = _rolled_back(observed, conditions, predictor_plans)
    return InferenceStatus(
        inference_endpoint=_endpoint(observed, predictor_plans, place, routed, nameless),
        predictor_statuses=predictors,
        conditions=conditions,
        observed_generation=inference.metadata.generation,
    )


def patience(observed: Observed) -> timedelta | None:
    """Return how long to wait for the gateway to accept a new route; None if it has reported, or the time is over."""
    if not isinstance(observed.gateway, GatewayRef) or observed.route is None or _is_ready(observed):
        return None
    refusal, moment = routing.refusal(observed.route, observed.gateway), observed.route.metadata.creation_timestamp
    if refusal is None or refusal[0] != routing.SILENT or moment is None or moment + routing.PATIENCE <= observed.now:
        return None
    return moment + routing.PATIENCE - observed.now


def settling(observed: Observed, predictor_plans: Sequence[PredictorPlan]) -> timedelta | None:
    """Return how long the gateway may need to notice the first ready pods; it reports on routes, never on pods."""
    if not isinstance(observed.gateway, GatewayRef) or _is_ready(observed):
        return None
    moments = [_first_ready(observed, plan) for plan in predictor_plans]
    last = max((moment for moment in moments if moment is not None), default=None)
    if last is None or last + NOTICED <= observed.now:
        return None
    return min(last + NOTICED - observed.now, NOTICED)  # the clock of a node may be ahead


def _first_ready(observed: Observed, predictor_plan: PredictorPlan) -> datetime | None:
    conditions = [pod.holding("Ready") for pod in observed.pods_of(predictor_plan.predictor.name, STABLE)]
    times = [condition.last_transition_time for condition in conditions if condition is not None]
    return min((time for time in times if time is not None), default=None)


def _is_ready(observed: Observed) -> bool:
    return is_true(observed.inference.status.conditions, READY)


def _is_asked_for(observed: Observed, predictor_plans: Sequence[PredictorPlan]) -> bool:
    return observed.inference.spec.gateway is not None or needs_gateway(predictor_plans)


def _shares(observed: Observed, predictor_plans: Sequence[PredictorPlan], outcome: ApplyResult) -> Mapping[str, int]:
    """Return the current share of each predictor in percent: as in the route, while any predictor is ready.

    A single predictor has 100, without a gateway.
    """
    weights: Mapping[str, int] = outcome.shares
    if len(predictor_plans) == 1 and not weights:
        weights = routing.effective([backend for plan in predictor_plans for backend in backends(observed, plan)])
    elif not any(observed.endpoints.get(name, 0) for name in weights):
        weights = {}
    tracks = {
        one.predictor.name: [
            predictor_name(observed.inference, one.predictor.name, track) for track in (STABLE, CANDIDATE)
        ]
        for one in predictor_plans
    }
    return routing.percents({name: sum(weights.get(one, 0) for one in both) for name, both in tracks.items()})


def _endpoint(
    observed: Observed,
    predictor_plans: Sequence[PredictorPlan],
    place: Endpoints,
    routed: Problem | None,
    nameless: Problem | None,
) -> str:
    if isinstance(observed.gateway, GatewayRef) and (routed is None or _is_asked_for(observed, predictor_plans)):
        return f"http://{place.host(observed)}"
    if len(predictor_plans) != 1:
        return ""
    inference = observed.inference
    own = inference.metadata.name if nameless is None else predictor_name(inference, predictor_plans[0].predictor.name)
    return place.address(observed, own)


def _predictor(
    observed: Observed,
    predictor_plan: PredictorPlan,
    shares: Mapping[str, int],
    problems: Mapping[str, Problem],
    place: Endpoints,
) -> PredictorStatus:
    predictor = predictor_plan.predictor
    name = predictor_name(observed.inference, predictor.name)
    deployment = observed.deployments.get(name)
    said = dict(deployment.metadata.annotations) if deployment is not None else {}
    problem = problems.get(predictor.name) or predictor_plan.problem or _unready(observed, predictor_plan)
    return PredictorStatus(
        name=predictor.name,
        replicas=deployment.status.replicas if deployment is not None else 0,
        ready_replicas=observed.endpoints.get(name, 0),
        updated_replicas=deployment.status.updated_replicas if deployment is not None and deployment.is_observed else 0,
        traffic_weight=predictor.weight,
        traffic_percent=shares.get(predictor.name, 0),
        endpoint=place.address(observed, name),
        model_version=said.get(MODEL_VERSION, ""),
        image=said.get(IMAGE, ""),
        loader=said.get(LOADER, ""),
        reason=problem.reason if problem is not None else "",
        message=problem.message if problem is not None else "",
        rollout=written(predictor_plan.state) if predictor_plan.state.stable else None,
    )


def _unready(observed: Observed, predictor_plan: PredictorPlan) -> Problem | None:
    if predictor_plan.is_off:
        return None
    predictor = predictor_plan.predictor
    name = predictor_name(observed.inference, predictor.name)
    deployment, endpoints = observed.deployments.get(name), observed.endpoints.get(name, 0)
    if deployment is not None and deployment.spec.replicas == 0 and predictor.auto_scale is not None:
        return None  # it gets no traffic
    return diagnose(observed.pods_of(predictor.name, STABLE), deployment, endpoints)


def _worst(
    observed: Observed,
    predictor_plans: Sequence[PredictorPlan],
    predictors: Sequence[PredictorStatus],
    routed: Problem | None,
) -> Problem | None:
    """Return what keeps the Inference from being ready. A predictor that still serves does not."""
    for predictor_plan, predictor in zip(predictor_plans, predictors, strict=True):
        answers = observed.endpoints.get(predictor_name(observed.inference, predictor.name), 0) > 0
        if predictor.reason and not answers:
            return Problem(predictor.reason, f"predictor {predictor_plan.predictor.name}: {predictor.message}")
    return routed


def _routed(observed: Observed, predictor_plans: Sequence[PredictorPlan]) -> Problem | None:
    """Return why traffic is not split as desired; None if it is, or there is nothing to split."""
    if isinstance(observed.gateway, Problem):
        return observed.gateway if needs_gateway(predictor_plans) else None
    if observed.route is None:
        return NO_ROUTE
    refusal = routing.refusal(observed.route, observed.gateway)
    return Problem(*refusal) if refusal is not None else None


def _taken(observed: Observed) -> Problem:
    """Return the condition of a route that the gateway has accepted."""
    if observed.route is not None and routing.drops_timeouts(observed.route):
        return Problem(
            "TimeoutsDropped",
            "the gateway accepted the HTTPRoute, but without spec.timeouts: HTTPRoutes of this cluster have no "
            "timeouts; install Gateway API 1.2 or later",
        )
    return Problem("Routed", "the gateway accepted the HTTPRoute")


def _rolled_back(
    observed: Observed, conditions: tuple[Condition, ...], predictor_plans: Sequence[PredictorPlan]
) -> tuple[Condition, ...]:
    """Return one condition for all predictors: versions that were rolled back, and why."""
    rejected = [plan for plan in predictor_plans if plan.state.phase == "RolledBack"]
    if not rejected:
        if find(conditions, ROLLED_BACK) is None:
            return conditions
        gone = Problem("NotRolledBack", "no version is rolled back")
        return _with(observed, conditions, ROLLED_BACK, gone)
    first = rejected[0]
    message = f"predictor {first.predictor.name}: ModelVersion {first.state.rejected}: {first.state.message}"
    return _with(observed, conditions, ROLLED_BACK, None, good=Problem(first.state.reason, message))


def _without(conditions: tuple[Condition, ...], kind: str) -> tuple[Condition, ...]:
    return tuple(condition for condition in conditions if condition.type != kind)


def _with(
    observed: Observed,
    conditions: tuple[Condition, ...],
    kind: str,
    problem: Problem | None,
    good: Problem = SERVING,
) -> tuple[Condition, ...]:
    shown = problem if problem is not None else good
    condition = Condition(
        type=kind,
        status="True" if problem is None else "False",
        reason=shown.reason,
        message=shown.message,
        observed_generation=observed.inference.metadata.generation,
    )
    return set_condition(conditions, condition, observed.now.replace(microsecond=0))
