"""What is said of an Inference: its conditions, and each predictor's state. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubedl.api.conditions import Condition, find, is_true, set_condition
from kubedl.api.inference import InferenceStatus, PredictorStatus
from kubedl.serving import traffic
from kubedl.serving.arrangement import Arrangement, backends, written
from kubedl.serving.deployment import IMAGE, LOADER, MODEL_VERSION
from kubedl.serving.explanation import trouble_of
from kubedl.serving.objects import CANDIDATE, HTTP, STABLE, name_of
from kubedl.serving.outcome import ENTRANCE, ROUTE, Outcome
from kubedl.serving.sight import Sight, Trouble
from kubedl.serving.traffic import GatewayRef

READY, ROUTED, NAMED, ROLLED_BACK = "Ready", "Routed", "Named", "RolledBack"
SERVING = Trouble("Serving", "every predictor has ready pods")
NO_ROUTE = Trouble("NoRoute", "the HTTPRoute does not exist yet")
NOTICED = traffic.SETTLING + timedelta(seconds=1)  # a pod's times are whole seconds
SETTLES = Trouble("GatewaySettles", "every predictor has ready pods; the gateway needs a moment to notice them")


@dataclass(frozen=True)
class Place:
    """Where Inferences are asked."""

    cluster_domain: str = "cluster.local"
    domain: str = "inference.local"  # below which every Inference has its name

    def host(self, sight: Sight) -> str:
        """At the gateway."""
        meta = sight.inference.metadata
        return traffic.hostname(meta.name, meta.namespace, self.domain)

    def address(self, sight: Sight, service: str) -> str:
        """Inside the cluster."""
        return f"http://{service}.{sight.inference.metadata.namespace}.svc.{self.cluster_domain}:{HTTP}"


def needs_gateway(arrangements: Sequence[Arrangement]) -> bool:
    """Whether requests are shared: among predictors, or between two versions of one."""
    return len(arrangements) > 1 or any(one.state.candidate for one in arrangements)


def stated(sight: Sight, arrangements: Sequence[Arrangement], outcome: Outcome, place: Place) -> InferenceStatus:
    """The status, after all that could be done was done."""
    inference, troubles = sight.inference, outcome.troubles
    shares = _shares(sight, arrangements, outcome)
    predictors = tuple(_predictor(sight, one, shares, troubles, place) for one in arrangements)
    routed = troubles.get(ROUTE) or _routed(sight, arrangements)
    old = inference.status
    # One predictor is asked at its Service too, whatever becomes of a route that nobody asked for. But who is told that
    # it is ready uses the address that stands there, so a gateway that may still take the route is given the time.
    is_awaited = (routed is NO_ROUTE and not _is_ready(sight)) or patience(sight) is not None
    hinders = routed if _is_asked_for(sight, arrangements) or is_awaited else None
    if routed is None and settling(sight, arrangements) is not None:
        hinders = SETTLES
    conditions = _with(sight, old.conditions, READY, _worst(sight, arrangements, predictors, hinders))
    if routed is not None or isinstance(sight.gateway, GatewayRef):
        conditions = _with(sight, conditions, ROUTED, routed, good=_taken(sight))
    else:
        conditions = _without(conditions, ROUTED)
    nameless = troubles.get(ENTRANCE)
    conditions = _without(conditions, NAMED) if nameless is None else _with(sight, conditions, NAMED, nameless)
    conditions = _rolled_back(sight, conditions, arrangements)
    return InferenceStatus(
        inference_endpoint=_endpoint(sight, arrangements, place, routed, nameless),
        predictor_statuses=predictors,
        conditions=conditions,
        observed_generation=inference.metadata.generation,
    )


def patience(sight: Sight) -> timedelta | None:
    """How long the gateway may still be silent about a new route; None if it has spoken, or had its time."""
    if not isinstance(sight.gateway, GatewayRef) or sight.route is None or _is_ready(sight):
        return None
    refusal, made = traffic.refusal(sight.route, sight.gateway), sight.route.metadata.creation_timestamp
    if refusal is None or refusal[0] != traffic.SILENT or made is None or made + traffic.PATIENCE <= sight.now:
        return None
    return made + traffic.PATIENCE - sight.now


def settling(sight: Sight, arrangements: Sequence[Arrangement]) -> timedelta | None:
    """How long the gateway may still need to notice the first servers; it tells of routes, never of servers."""
    if not isinstance(sight.gateway, GatewayRef) or _is_ready(sight):
        return None
    moments = [_first_ready(sight, one) for one in arrangements]
    last = max((moment for moment in moments if moment is not None), default=None)
    if last is None or last + NOTICED <= sight.now:
        return None
    return min(last + NOTICED - sight.now, NOTICED)  # a node's clock may run ahead


def _first_ready(sight: Sight, arrangement: Arrangement) -> datetime | None:
    found = [pod.condition("Ready") for pod in sight.pods_of(arrangement.predictor.name, STABLE)]
    times = [one.last_transition_time for one in found if one is not None and one.status == "True"]
    return min((time for time in times if time is not None), default=None)


def _is_ready(sight: Sight) -> bool:
    return is_true(sight.inference.status.conditions, READY)


def _is_asked_for(sight: Sight, arrangements: Sequence[Arrangement]) -> bool:
    return sight.inference.spec.gateway is not None or needs_gateway(arrangements)


def _shares(sight: Sight, arrangements: Sequence[Arrangement], outcome: Outcome) -> Mapping[str, int]:
    """Percent of each predictor, as they are: what the route says, while anybody answers.

    Who is alone has all, without any gateway.
    """
    weights: Mapping[str, int] = outcome.shares
    if len(arrangements) == 1 and not weights:
        weights = traffic.effective([backend for one in arrangements for backend in backends(sight, one)])
    elif not any(sight.endpoints.get(name, 0) for name in weights):
        weights = {}
    tracks = {
        one.predictor.name: [name_of(sight.inference, one.predictor.name, track) for track in (STABLE, CANDIDATE)]
        for one in arrangements
    }
    return traffic.percents({name: sum(weights.get(one, 0) for one in both) for name, both in tracks.items()})


def _endpoint(
    sight: Sight, arrangements: Sequence[Arrangement], place: Place, routed: Trouble | None, nameless: Trouble | None
) -> str:
    if isinstance(sight.gateway, GatewayRef) and (routed is None or _is_asked_for(sight, arrangements)):
        return f"http://{place.host(sight)}"
    if len(arrangements) != 1:
        return ""
    inference = sight.inference
    own = inference.metadata.name if nameless is None else name_of(inference, arrangements[0].predictor.name)
    return place.address(sight, own)


def _predictor(
    sight: Sight,
    arrangement: Arrangement,
    shares: Mapping[str, int],
    troubles: Mapping[str, Trouble],
    place: Place,
) -> PredictorStatus:
    predictor = arrangement.predictor
    name = name_of(sight.inference, predictor.name)
    found = sight.deployments.get(name)
    said = dict(found.metadata.annotations) if found is not None else {}
    trouble = troubles.get(predictor.name) or arrangement.trouble or _unready(sight, arrangement)
    return PredictorStatus(
        name=predictor.name,
        replicas=found.status.replicas if found is not None else 0,
        ready_replicas=sight.endpoints.get(name, 0),
        updated_replicas=found.status.updated_replicas if found is not None and found.is_observed else 0,
        traffic_weight=predictor.weight,
        traffic_percent=shares.get(predictor.name, 0),
        endpoint=place.address(sight, name),
        model_version=said.get(MODEL_VERSION, ""),
        image=said.get(IMAGE, ""),
        loader=said.get(LOADER, ""),
        reason=trouble.reason if trouble is not None else "",
        message=trouble.message if trouble is not None else "",
        rollout=written(arrangement.state) if arrangement.state.stable else None,
    )


def _unready(sight: Sight, arrangement: Arrangement) -> Trouble | None:
    if arrangement.is_off:
        return None
    predictor = arrangement.predictor
    name = name_of(sight.inference, predictor.name)
    found, endpoints = sight.deployments.get(name), sight.endpoints.get(name, 0)
    if found is not None and found.spec.replicas == 0 and predictor.auto_scale is not None:
        return None  # nobody asks it anything
    return trouble_of(sight.pods_of(predictor.name, STABLE), found, endpoints)


def _worst(
    sight: Sight, arrangements: Sequence[Arrangement], predictors: Sequence[PredictorStatus], routed: Trouble | None
) -> Trouble | None:
    """What keeps the Inference from being ready. A predictor that still answers does not, whatever is to be said."""
    for arrangement, predictor in zip(arrangements, predictors, strict=True):
        answers = sight.endpoints.get(name_of(sight.inference, predictor.name), 0) > 0
        if predictor.reason and not answers:
            return Trouble(predictor.reason, f"predictor {arrangement.predictor.name}: {predictor.message}")
    return routed


def _routed(sight: Sight, arrangements: Sequence[Arrangement]) -> Trouble | None:
    """Why requests are not shared as told; None if they are, or nothing is to be shared."""
    if isinstance(sight.gateway, Trouble):
        return sight.gateway if needs_gateway(arrangements) else None
    if sight.route is None:
        return NO_ROUTE
    refusal = traffic.refusal(sight.route, sight.gateway)
    return Trouble(*refusal) if refusal is not None else None


def _taken(sight: Sight) -> Trouble:
    """What is to be said of a route that the gateway has taken."""
    if sight.route is not None and traffic.drops_timeouts(sight.route):
        return Trouble(
            "TimeoutsDropped",
            "the gateway accepted the HTTPRoute, but without spec.timeouts: HTTPRoutes of this cluster have no "
            "timeouts; install Gateway API 1.2 or later",
        )
    return Trouble("Routed", "the gateway accepted the HTTPRoute")


def _rolled_back(
    sight: Sight, conditions: tuple[Condition, ...], arrangements: Sequence[Arrangement]
) -> tuple[Condition, ...]:
    """One condition for all: what was tried and is not served, and why."""
    rejected = [one for one in arrangements if one.state.phase == "RolledBack"]
    if not rejected:
        if find(conditions, ROLLED_BACK) is None:
            return conditions
        gone = Trouble("NotRolledBack", "no version is rolled back")
        return _with(sight, conditions, ROLLED_BACK, gone)
    first = rejected[0]
    told = f"predictor {first.predictor.name}: ModelVersion {first.state.rejected}: {first.state.message}"
    return _with(sight, conditions, ROLLED_BACK, None, good=Trouble(first.state.reason, told))


def _without(conditions: tuple[Condition, ...], kind: str) -> tuple[Condition, ...]:
    return tuple(one for one in conditions if one.type != kind)


def _with(
    sight: Sight,
    conditions: tuple[Condition, ...],
    kind: str,
    trouble: Trouble | None,
    good: Trouble = SERVING,
) -> tuple[Condition, ...]:
    said = trouble if trouble is not None else good
    condition = Condition(
        type=kind,
        status="True" if trouble is None else "False",
        reason=said.reason,
        message=said.message,
        observed_generation=sight.inference.metadata.generation,
    )
    return set_condition(conditions, condition, sight.now.replace(microsecond=0))
