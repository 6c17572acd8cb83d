"""What a Prometheus is asked about a version: an administrator's words, with the version's names filled in.

Nobody else words a question: whoever may ask a Prometheus anything learns what all others do.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from pathlib import Path
from string import Template

import yaml

SHORTEST = timedelta(seconds=1)  # PromQL knows no shorter range in whole seconds
WORDS = ("namespace", "service", "port", "backend", "since")


@dataclass(frozen=True)
class Target:
    """The Service of a version."""

    namespace: str
    service: str
    port: int

    @property
    def backend(self) -> str:
        """What Traefik calls it, in its metrics too. It knows no two dashes in a row."""
        parts = f"{self.namespace}-{self.service}-http-{self.port}".split("-")
        return "-".join(part for part in parts if part) + "@kubernetesgateway"


@dataclass(frozen=True)
class Queries:
    """PromQL with words: of the Service, $backend for Traefik's name of it, $since for the time since its step.

    What is asked about the last minutes alone has these in $since.
    """

    requests: str
    errors: str
    p99: str  # in seconds

    def about(self, target: Target, since: datetime, now: datetime) -> Iterator[str]:
        """The questions, in this order."""
        words = {
            "namespace": target.namespace,
            "service": target.service,
            "port": str(target.port),
            "backend": target.backend,
            "since": f"{math.ceil(max(now - since, SHORTEST).total_seconds())}s",
        }
        for query in (self.requests, self.errors, self.p99):
            yield Template(query).safe_substitute(words)


def _counted(series: str) -> str:
    """What a counter has counted since then, with what it began with if it is newer.

    increase() leaves out the first sample of a series, and every series of a version that is tried is new: a burst of
    errors between two scrapes would not be seen, nor the only error of its status code.
    """
    seen = f"min_over_time({series}[$since])"
    grown = f"(increase({series}[$since]) or 0 * {seen})"
    return f"({grown} + (({seen} unless {series} offset $since) or 0 * {seen}))"


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
    """Those of a gateway that is known, or of a file; ValueError if it is neither."""
    if text in KNOWN:
        return KNOWN[text]
    try:
        found = yaml.safe_load(Path(text).read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{text}: not a file of YAML ({type(error).__name__})") from error
    names = {field.name for field in fields(Queries)}
    if not isinstance(found, dict) or set(found) != names:
        raise ValueError(f"{text}: a map of {', '.join(sorted(names))}")
    for name, query in found.items():
        _check(f"{text}: {name}", query)
    return Queries(**found)


def _check(place: str, query: object) -> None:
    """A word that is never filled in would be asked for ever, and one that is missing asks about everybody."""
    template = Template(query) if isinstance(query, str) else None
    if template is None or not template.is_valid():
        raise ValueError(f"{place}: PromQL; a $ that begins no word is written $$")
    words = set(template.get_identifiers())
    if words - set(WORDS):
        raise ValueError(f"{place}: ${min(words - set(WORDS))} is not known; known are {', '.join(WORDS)}")
    if "backend" not in words and not {"namespace", "service"} <= words:
        raise ValueError(f"{place}: without $namespace and $service, or $backend, it asks about everybody")
