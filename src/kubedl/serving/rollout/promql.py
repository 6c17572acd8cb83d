"""PromQL queries about a canary: templates of the administrator, filled with the names of its Service.

Users cannot write queries: these could read the metrics of all tenants.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from pathlib import Path
from string import Template

import yaml

from kubedl.kube.bounded_regex import BoundedPattern

SHORTEST = timedelta(seconds=1)  # the shortest range in PromQL
# The name of an object, as Kubernetes allows it: no quotes, no braces.
NAME = BoundedPattern(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", longest=253)
VARIABLES = ("namespace", "service", "port", "backend", "since")


@dataclass(frozen=True)
class Target:
    """The Service of a version."""

    namespace: str
    service: str
    port: int

    @property
    def backend(self) -> str:
        """Traefik's name of the Service, also in its metrics. It collapses repeated dashes."""
        parts = f"{self.namespace}-{self.service}-http-{self.port}".split("-")
        return "-".join(part for part in parts if part) + "@kubernetesgateway"


@dataclass(frozen=True)
class Queries:
    """PromQL templates with $namespace, $service, $backend (Traefik's name of the Service) and $since (the step's age).

    In queries about the last minutes, $since has their length.
    """

    requests: str
    errors: str
    p99: str  # in seconds

    @property
    def by_backend(self) -> bool:
        """Whether a Service is known by Traefik's name alone, which Services of two namespaces may have in common."""
        return any("backend" in Template(one).get_identifiers() for one in (self.requests, self.errors, self.p99))

    def about(self, target: Target, since: datetime, now: datetime) -> Sequence[str]:
        """Return the queries, in this order. Raises ValueError if a name could not be that of a Kubernetes object.

        Names are written into the queries as they are, so any other character could end the selector and query other
        tenants.
        """
        if not NAME.fullmatch(target.namespace) or not NAME.fullmatch(target.service):
            raise ValueError("the name of the Service or of its namespace is invalid")
        variables = {
            "namespace": target.namespace,
            "service": target.service,
            "port": str(target.port),
            "backend": target.backend,
            "since": f"{math.ceil(max(now - since, SHORTEST).total_seconds())}s",
        }
        return [Template(query).safe_substitute(variables) for query in (self.requests, self.errors, self.p99)]


def _counted(series: str) -> str:
    """Return by how much a counter grew between its samples, including the first value of a new series.

    increase() extrapolates to the ends of its range, so minRequests would be reached before the requests were sent. It
    also ignores the first sample of a series, and all series of a canary are new: it would miss a burst of errors
    between two scrapes, or the only error with its status code. It is used where a gateway restarted.
    """
    seen = f"min_over_time({series}[$since])"
    begin = f"({series} offset $since or 0 * {seen})"
    grown = f"(last_over_time({series}[$since]) - {begin} >= 0 and resets({series}[$since]) == 0)"
    restarted = f"(increase({series}[$since]) or 0 * {seen})"
    return f"({grown} or {restarted} + (({seen} unless {series} offset $since) or 0 * {seen}))"


_TRAEFIK = 'service="$backend"'
TRAEFIK = Queries(
    requests=f"sum({_counted(f'traefik_service_requests_total{{{_TRAEFIK}}}')})",
    errors="sum({})".format(_counted(f'traefik_service_requests_total{{{_TRAEFIK},code=~"5.."}}')),
    p99="histogram_quantile(0.99, sum by (le) ({}))".format(
        _counted(f"traefik_service_request_duration_seconds_bucket{{{_TRAEFIK}}}")
    ),
)
_ISTIO = 'destination_service_namespace="$namespace",destination_service_name="$service",reporter="source"'
ISTIO = Queries(
    requests=f"sum({_counted(f'istio_requests_total{{{_ISTIO}}}')})",
    errors="sum({})".format(_counted(f'istio_requests_total{{{_ISTIO},response_code=~"0|5.."}}')),
    p99="histogram_quantile(0.99, sum by (le) ({})) / 1000".format(
        _counted(f"istio_request_duration_milliseconds_bucket{{{_ISTIO}}}")
    ),
)
KNOWN = {"traefik": TRAEFIK, "istio": ISTIO}


def chosen(text: str) -> Queries:
    """Return the templates of a known gateway, or from a file; raises ValueError if it is neither."""
    if text in KNOWN:
        return KNOWN[text]
    try:
        found = yaml.safe_load(Path(text).read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{text}: not a YAML file ({type(error).__name__})") from error
    names = {field.name for field in fields(Queries)}
    if not isinstance(found, dict) or set(found) != names:
        raise ValueError(f"{text}: expected a map of {', '.join(sorted(names))}")
    for name, query in found.items():
        _check(f"{text}: {name}", query)
    return Queries(**found)


def _check(place: str, query: object) -> None:
    """Check the variables: an unknown one would never be filled, and a missing one would query all tenants."""
    template = Template(query) if isinstance(query, str) else None
    if template is None or not template.is_valid():
        raise ValueError(f"{place}: invalid PromQL template; write $$ for a literal $")
    used = set(template.get_identifiers())
    if used - set(VARIABLES):
        raise ValueError(f"{place}: unknown variable ${min(used - set(VARIABLES))}; known are {', '.join(VARIABLES)}")
    if "backend" not in used and not {"namespace", "service"} <= used:
        raise ValueError(f"{place}: needs $namespace and $service, or $backend; otherwise it queries all tenants")
