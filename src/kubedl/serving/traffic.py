"""Who gets which share of an Inference's requests, and the HTTPRoute that says so. Pure.

A gateway sends a backend its share whether anybody is there to answer or not, so a backend that is not ready has no
share: the others take it over in proportion. Weights in the route are exact: gateways divide by their sum, so nothing
needs to be rounded to percent. What leaves on purpose leaves the route first, and is taken away only
when every gateway has had time to follow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from math import gcd

from kubedl.api.conditions import Condition
from kubedl.api.inference import Timeouts
from kubedl.serving.template import Body
from kubedl.wire.meta import ObjectMeta, Record, Resource

GROUP = "gateway.networking.k8s.io"
SINCE = "serving.kubedl.io/shares-since"  # the annotation of a route: when its shares were last changed
WAITS = "serving.kubedl.io/timeouts"  # the annotation of a route: the timeouts that were written into it
WHOLE = 100
SETTLING = timedelta(seconds=3)  # from a route that is written to a gateway that acts on it; Traefik collects for two
PATIENCE = timedelta(minutes=1)  # with a gateway that does not say that it has seen a route
SILENT = "GatewaySilent"


@dataclass(frozen=True)
class Backend:
    """One predictor as the gateway sees it."""

    name: str  # of its Service
    port: int
    weight: int  # as the user wants it: a predictor's weight (0-100), times its version's percent
    ready: bool  # has ready endpoints, and is not about to go


@dataclass(frozen=True)
class GatewayRef:
    """The gateway that the requests come through."""

    name: str
    namespace: str
    section: str = ""  # one of its listeners; by default all that let the hostname in


class BackendRef(Record, frozen=True):
    """A backend in a route."""

    name: str
    port: int | None = None
    weight: int = 1


class RouteTimeouts(Record, frozen=True):
    """How long a gateway waits for answers, as durations of Gateway API."""

    request: str = ""
    backend_request: str = ""


class RouteRule(Record, frozen=True):
    """What is shared, and among whom."""

    backend_refs: tuple[BackendRef, ...] = ()
    timeouts: RouteTimeouts | None = None


class ParentRef(Record, frozen=True):
    """A gateway in a route."""

    name: str
    namespace: str = ""
    section_name: str = ""


class RouteSpec(Record, frozen=True):
    """What is asked of gateways."""

    parent_refs: tuple[ParentRef, ...] = ()
    hostnames: tuple[str, ...] = ()
    rules: tuple[RouteRule, ...] = ()


class RouteParent(Record, frozen=True):
    """What one gateway says about a route."""

    parent_ref: ParentRef
    conditions: tuple[Condition, ...] = ()


class RouteStatus(Record, frozen=True):
    """What gateways say about a route."""

    parents: tuple[RouteParent, ...] = ()


class HTTPRoute(Record, frozen=True):
    """How gateways share requests."""

    metadata: ObjectMeta = ObjectMeta()
    spec: RouteSpec = RouteSpec()
    status: RouteStatus = RouteStatus()


HTTP_ROUTES = Resource(HTTPRoute, "HTTPRoute", "httproutes", "v1", GROUP)


def effective(backends: Sequence[Backend]) -> dict[str, int]:
    """The weight of each backend in the route by its name; 0 for all when none that is wanted is ready."""
    return _exact({backend.name: backend.weight if backend.ready else 0 for backend in backends})


def percents(weights: Mapping[str, int]) -> dict[str, int]:
    """Weights for people: whole percents, 100 in sum, by largest remainder. Who has any weight has one at least."""
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
    # Among equals the first named, so that the same wish has the same answer every time.
    rest = left - sum(int(share) for share in exact.values())
    for name in sorted(exact, key=lambda name: int(exact[name]) - exact[name])[:rest]:
        shares[name] += 1
    return shares


def shares(found: HTTPRoute | None) -> dict[str, int]:
    """The weight of each backend by its name, as a route has it."""
    return {name: weight for name, _, weight in _shares(found)} if found is not None else {}


def hostname(name: str, namespace: str, domain: str) -> str:
    """Where an Inference is asked: the namespace is in it, so no two of one name meet."""
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
    found: HTTPRoute | None = None,
    now: datetime | None = None,
) -> Body:
    """The HTTPRoute as it is applied. Given the one that is there, it keeps the moment of the last change of shares.

    When nobody is ready, the shares are those that are wanted: requests fail either way, and whoever comes back first
    answers at once, be an operator there or not.
    """
    refs = [
        {"name": backend.name, "port": backend.port, "weight": weight}
        for backend, weight in _referred(backends)
        if weight
    ]
    parent = {"name": gateway.name, "namespace": gateway.namespace}
    waits = _durations(timeouts)
    metadata: Body = {"name": name, "namespace": namespace, "ownerReferences": [owner]}
    since = _since(found, refs, now)
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


def drops_timeouts(found: HTTPRoute) -> bool:
    """Whether timeouts were written and the API server did not keep them: its HTTPRoute has no such field."""
    return WAITS in found.metadata.annotations and all(rule.timeouts is None for rule in found.spec.rules)


def says(found: HTTPRoute, wanted: Body) -> bool:
    """Whether the route that is there says what one that `route` made would."""
    spec = wanted["spec"]
    refs = {(one["name"], one["port"], one["weight"]) for rule in spec["rules"] for one in rule["backendRefs"]}
    parents = {(one["name"], one["namespace"], one.get("sectionName", "")) for one in spec["parentRefs"]}
    return (
        len(found.spec.rules) == 1
        and _shares(found) == refs
        and {(one.name, one.namespace, one.section_name) for one in found.spec.parent_refs} == parents
        and list(found.spec.hostnames) == spec["hostnames"]
        and _waits(found, wanted)
    )


def until_left(found: HTTPRoute | None, name: str, now: datetime) -> timedelta | None:
    """How long a backend must still be there: nothing when no gateway sends it requests any more.

    None says that the route still names it.
    """
    if found is None:
        return timedelta()
    if any(share[0] == name for share in _shares(found)):
        return None
    written = found.metadata.annotations.get(SINCE)
    try:
        since = datetime.fromisoformat(written) if written else found.metadata.creation_timestamp
    except ValueError:  # somebody else's hand
        since = now
    if since is None or since.tzinfo is None:
        since = now
    since = min(since, now)  # a clock that was ahead
    if _unseen(found) and now < since + PATIENCE:
        return SETTLING
    return max(timedelta(), min(since + SETTLING - now, SETTLING))


def refusal(found: HTTPRoute, gateway: GatewayRef) -> tuple[str, str] | None:
    """Why the gateway does not take the route as it is, as reason and message; None if it does."""
    mine = [
        parent.conditions
        for parent in found.status.parents
        if (parent.parent_ref.name, parent.parent_ref.namespace or found.metadata.namespace)
        == (gateway.name, gateway.namespace)
    ]
    if not mine:
        message = f"Gateway {gateway.namespace}/{gateway.name} has not accepted HTTPRoute {found.metadata.name} yet"
        return SILENT, message
    for condition in (condition for conditions in mine for condition in conditions):
        if condition.type in ("Accepted", "ResolvedRefs") and condition.status == "False":
            return condition.reason or condition.type, f"HTTPRoute {found.metadata.name}: {condition.message}"
    return None


def _referred(backends: Sequence[Backend]) -> list[tuple[Backend, int]]:
    shares = effective(backends)
    if not any(shares.values()):
        shares = _exact({backend.name: backend.weight for backend in backends})
    return [(backend, shares[backend.name]) for backend in backends]


def _exact(weights: Mapping[str, int]) -> dict[str, int]:
    """The same proportions in smaller numbers: percents where these are whole, else the least whole numbers.

    A weight is at most 100 times 100, and a route may have weights up to a million.
    """
    total, divisor = sum(weights.values()), gcd(*weights.values())
    if total and all(weight * WHOLE % total == 0 for weight in weights.values()):
        return {name: weight * WHOLE // total for name, weight in weights.items()}
    return {name: weight // divisor if divisor else 0 for name, weight in weights.items()}


def _durations(wish: Timeouts | None) -> dict[str, str]:
    asked = {"request": wish.request_seconds, "backendRequest": wish.backend_request_seconds} if wish else {}
    return {name: f"{seconds}s" for name, seconds in asked.items() if seconds is not None}


def _waits(found: HTTPRoute, wanted: Body) -> bool:
    """Whether timeouts are as wanted. Where the API server drops them, writing them again would change nothing."""
    rule: dict[str, str] = wanted["spec"]["rules"][0].get("timeouts", {})
    notes: dict[str, str] = wanted["metadata"].get("annotations", {})
    kept = found.spec.rules[0].timeouts or RouteTimeouts()
    if drops_timeouts(found):
        return found.metadata.annotations.get(WAITS) == notes.get(WAITS)
    return (kept.request, kept.backend_request) == (rule.get("request", ""), rule.get("backendRequest", ""))


def _since(found: HTTPRoute | None, refs: list[Body], now: datetime | None) -> str | None:
    if found is not None and _shares(found) == {(ref["name"], ref["port"], ref["weight"]) for ref in refs}:
        return found.metadata.annotations.get(SINCE)
    return now.isoformat() if now is not None else None


def _unseen(found: HTTPRoute) -> bool:
    """Whether a gateway that knows the route has not said anything about its present state."""
    said = (condition for parent in found.status.parents for condition in parent.conditions)
    return any(one.type == "Accepted" and one.observed_generation < found.metadata.generation for one in said)


def _shares(found: HTTPRoute) -> set[tuple[str, int | None, int]]:
    return {(ref.name, ref.port, ref.weight) for rule in found.spec.rules for ref in rule.backend_refs}
