"""Traffic weights of an Inference, and its HTTPRoute. Pure.

A gateway sends a backend its share whether it is ready or not, so a backend that is not ready gets weight 0 and the
others take over in proportion. Weights in the route are exact: gateways divide by their sum, so no rounding to percent
is needed. A backend is removed from the route first, and deleted only after every gateway has had time to follow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from math import gcd

from kubedl.api.conditions import Condition
from kubedl.api.inference import Timeouts
from kubedl.kube.types.meta import ObjectMeta, Record, Resource
from kubedl.serving.workload.template import Body

GROUP = "gateway.networking.k8s.io"
SINCE = "serving.kubedl.io/shares-since"  # annotation of a route: when its weights last changed
WAITS = "serving.kubedl.io/timeouts"  # annotation of a route: the timeouts that were written into it
WHOLE = 100
SETTLING = timedelta(seconds=3)  # from the write of a route until a gateway applies it; Traefik batches for two seconds
PATIENCE = timedelta(minutes=1)  # for a gateway that does not report that it has seen a route
SILENT = "GatewaySilent"


@dataclass(frozen=True)
class Backend:
    """One predictor as a backend of the route."""

    name: str  # of its Service
    port: int
    weight: int  # desired: the predictor's weight (0-100) times the percentage of its version
    ready: bool  # has ready endpoints, and is not being removed


@dataclass(frozen=True)
class GatewayRef:
    """The Gateway of the route."""

    name: str
    namespace: str
    section: str = ""  # a listener; by default all that accept the host name


class BackendRef(Record, frozen=True):
    """A backend of a route."""

    name: str
    port: int | None = None
    weight: int = 1


class RouteTimeouts(Record, frozen=True):
    """Timeouts of a route, as Gateway API durations."""

    request: str = ""
    backend_request: str = ""


class RouteRule(Record, frozen=True):
    """A rule of a route."""

    backend_refs: tuple[BackendRef, ...] = ()
    timeouts: RouteTimeouts | None = None


class ParentRef(Record, frozen=True):
    """A parent Gateway of a route."""

    name: str
    namespace: str = ""
    section_name: str = ""


class RouteSpec(Record, frozen=True):
    """Spec of a route."""

    parent_refs: tuple[ParentRef, ...] = ()
    hostnames: tuple[str, ...] = ()
    rules: tuple[RouteRule, ...] = ()


class RouteParent(Record, frozen=True):
    """Status of a route, by one gateway."""

    parent_ref: ParentRef
    conditions: tuple[Condition, ...] = ()


class RouteStatus(Record, frozen=True):
    """Status of a route."""

    parents: tuple[RouteParent, ...] = ()


class HTTPRoute(Record, frozen=True):
    """An HTTPRoute."""

    metadata: ObjectMeta = ObjectMeta()
    spec: RouteSpec = RouteSpec()
    status: RouteStatus = RouteStatus()


HTTP_ROUTES = Resource(HTTPRoute, "HTTPRoute", "httproutes", "v1", GROUP)


def effective(backends: Sequence[Backend]) -> dict[str, int]:
    """Return the weight of each backend by name; 0 for all if none of the desired ones is ready."""
    return _exact({backend.name: backend.weight if backend.ready else 0 for backend in backends})


def percents(weights: Mapping[str, int]) -> dict[str, int]:
    """Convert weights into whole percentages with sum 100, by largest remainder. Any weight above 0 gets at least 1."""
    shares = dict.fromkeys(weights, 0)
    wanted = {name: weight for name, weight in weights.items() if weight > 0}
    left = WHOLE
    if len(wanted) <= WHOLE:
        while small := [name for name, weight in wanted.items() if weight * left < sum(wanted.values())]:
            for name in small:
                shares[name] = 1
                del wanted[name]
            left -= len(small)
    total = sum(wanted.values())
    exact = {name: Fraction(weight * left, total) for name, weight in wanted.items()}
    shares |= {name: int(share) for name, share in exact.items()}
    # Ties go to the first name, so that the result is deterministic.
    rest = left - sum(int(share) for share in exact.values())
    for name in sorted(exact, key=lambda name: int(exact[name]) - exact[name])[:rest]:
        shares[name] += 1
    return shares


def shares(route: HTTPRoute | None) -> dict[str, int]:
    """Return the current weight of each backend of a route by name."""
    return {name: weight for name, _, weight in _shares(route)} if route is not None else {}


def hostname(name: str, namespace: str, domain: str) -> str:
    """Return the host name of an Inference; it includes the namespace, so it is unique."""
    return f"{name}.{namespace}.{domain}"


def route(  # noqa: PLR0913 - an object of Kubernetes has as many parts
    name: str,
    namespace: str,
    hostname: str,
    gateway: GatewayRef,
    backends: Sequence[Backend],
    owner: Body,
    *,
    timeouts: Timeouts | None = None,
    current: HTTPRoute | None = None,
    now: datetime | None = None,
) -> Body:
    """Return the HTTPRoute. Given the existing one, it keeps the time of the last change of weights.

    If no backend is ready, the weights are the desired ones: requests fail either way, and the first backend that
    recovers serves at once, even without a running operator.
    """
    refs = [
        {"name": backend.name, "port": backend.port, "weight": weight}
        for backend, weight in _referred(backends)
        if weight
    ]
    parent = {"name": gateway.name, "namespace": gateway.namespace}
    waits = _durations(timeouts)
    metadata: Body = {"name": name, "namespace": namespace, "ownerReferences": [owner]}
    since = _since(current, refs, now)
    notes = {SINCE: since} if since is not None else {}
    if waits:
        notes[WAITS] = ",".join(f"{name}={duration}" for name, duration in waits.items())
    if notes:
        metadata["annotations"] = notes
    return {
        "apiVersion": HTTP_ROUTES.api_version,
        "kind": HTTP_ROUTES.kind,
        "metadata": metadata,
        "spec": {
            "parentRefs": [{**parent, "sectionName": gateway.section} if gateway.section else parent],
            "hostnames": [hostname],
            "rules": [{"backendRefs": refs, "timeouts": waits} if waits else {"backendRefs": refs}],
        },
    }


def drops_timeouts(route: HTTPRoute) -> bool:
    """Return whether timeouts were written but dropped by the API server: its HTTPRoute CRD has no such field."""
    return WAITS in route.metadata.annotations and all(rule.timeouts is None for rule in route.spec.rules)


def says(route: HTTPRoute, wanted: Body) -> bool:
    """Return whether the existing route is equal to one that `route` renders."""
    spec, notes = wanted["spec"], wanted["metadata"].get("annotations", {})
    refs = {(one["name"], one["port"], one["weight"]) for rule in spec["rules"] for one in rule["backendRefs"]}
    parents = {(one["name"], one["namespace"], one.get("sectionName", "")) for one in spec["parentRefs"]}
    return (
        len(route.spec.rules) == 1
        and _shares(route) == refs
        and {(parent.name, parent.namespace, parent.section_name) for parent in route.spec.parent_refs} == parents
        and list(route.spec.hostnames) == spec["hostnames"]
        and _waits(route, wanted)
        and route.metadata.annotations.get(SINCE) == notes.get(SINCE)
    )


def until_left(route: HTTPRoute | None, name: str, now: datetime) -> timedelta | None:
    """Return how long a backend must be kept: 0 when no gateway sends it traffic any more.

    None means that the route still names it.
    """
    if route is None:
        return timedelta()
    if any(share[0] == name for share in _shares(route)):
        return None
    written = route.metadata.annotations.get(SINCE)
    try:
        since = datetime.fromisoformat(written) if written else route.metadata.creation_timestamp
    except ValueError:  # modified by another client
        since = now
    if since is None or since.tzinfo is None:
        since = now
    since = min(since, now)  # a clock was ahead
    if _unseen(route) and now < since + PATIENCE:
        return SETTLING
    return max(timedelta(), min(since + SETTLING - now, SETTLING))


def refusal(route: HTTPRoute, gateway: GatewayRef) -> tuple[str, str] | None:
    """Return why the gateway does not accept the route, as reason and message; None if it does."""
    mine = [
        parent.conditions
        for parent in route.status.parents
        if (parent.parent_ref.name, parent.parent_ref.namespace or route.metadata.namespace)
        == (gateway.name, gateway.namespace)
    ]
    if not mine:
        message = f"Gateway {gateway.namespace}/{gateway.name} has not accepted HTTPRoute {route.metadata.name} yet"
        return SILENT, message
    for condition in (condition for conditions in mine for condition in conditions):
        if condition.type in ("Accepted", "ResolvedRefs") and condition.status == "False":
            return condition.reason or condition.type, f"HTTPRoute {route.metadata.name}: {condition.message}"
    return None


def _referred(backends: Sequence[Backend]) -> list[tuple[Backend, int]]:
    shares = effective(backends)
    if not any(shares.values()):
        shares = _exact({backend.name: backend.weight for backend in backends})
    return [(backend, shares[backend.name]) for backend in backends]


def _exact(weights: Mapping[str, int]) -> dict[str, int]:
    """Reduce weights: to percentages if these are whole, else to the smallest whole numbers.

    A weight is at most 100 times 100, and a route allows weights up to a million.
    """
    total, divisor = sum(weights.values()), gcd(*weights.values())
    if total and all(weight * WHOLE % total == 0 for weight in weights.values()):
        return {name: weight * WHOLE // total for name, weight in weights.items()}
    return {name: weight // divisor if divisor else 0 for name, weight in weights.items()}


def _durations(timeouts: Timeouts | None) -> dict[str, str]:
    asked = (
        {"request": timeouts.request_seconds, "backendRequest": timeouts.backend_request_seconds} if timeouts else {}
    )
    return {name: f"{seconds}s" for name, seconds in asked.items() if seconds is not None}


def _waits(route: HTTPRoute, wanted: Body) -> bool:
    """Return whether timeouts are as desired. If the API server drops them, writing them again would change nothing."""
    rule: dict[str, str] = wanted["spec"]["rules"][0].get("timeouts", {})
    notes: dict[str, str] = wanted["metadata"].get("annotations", {})
    kept = route.spec.rules[0].timeouts or RouteTimeouts()
    if drops_timeouts(route):
        return route.metadata.annotations.get(WAITS) == notes.get(WAITS)
    return (kept.request, kept.backend_request) == (rule.get("request", ""), rule.get("backendRequest", ""))


def _since(route: HTTPRoute | None, refs: list[Body], now: datetime | None) -> str | None:
    if route is not None and _shares(route) == {(ref["name"], ref["port"], ref["weight"]) for ref in refs}:
        written = route.metadata.annotations.get(SINCE)
        if not written or now is None or _is_past(written, now):
            return written
        # `until_left` takes it for now on every call, so it is replaced; else a backend might be kept for hours.
    return now.isoformat() if now is not None else None


def _is_past(written: str, now: datetime) -> bool:
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return False
    return moment.tzinfo is not None and moment <= now


def _unseen(route: HTTPRoute) -> bool:
    """Return whether a gateway that knows the route has not reported on its current generation."""
    said = (condition for parent in route.status.parents for condition in parent.conditions)
    return any(one.type == "Accepted" and one.observed_generation < route.metadata.generation for one in said)


def _shares(route: HTTPRoute) -> set[tuple[str, int | None, int]]:
    return {(ref.name, ref.port, ref.weight) for rule in route.spec.rules for ref in rule.backend_refs}
