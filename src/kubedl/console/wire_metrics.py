"""What the console sends about the requests of services."""

from collections.abc import Sequence

from kubedl.console.wire_base import Wire


class Figures(Wire, frozen=True):
    """Requests of one version, as the gateway counted them."""

    requests: int
    failures: int
    seconds: int  # in which they were counted
    p99_seconds: float | None  # null: not known


class MetricsRow(Wire, frozen=True):
    """A version that a predictor runs, in the last minutes; a canary since its step began if that is later."""

    predictor: str
    version: str
    canary: bool
    figures: Figures | None  # null: not known
    reason: str  # why they are not known


class JudgedRow(Wire, frozen=True):
    """A canary in its step, as the operator judges it."""

    predictor: str
    version: str
    figures: Figures | None  # since the step began; null: not known
    outcome: str  # Good, Bad, Unknown
    reason: str  # TooFewRequests, NoMetrics, ErrorRate, …
    message: str
    most_error_rate: float | None  # bounds; null: none is set. 0 to 1
    most_p99_seconds: float | None
    least_requests: int


class ServiceMetrics(Wire, frozen=True):
    """The requests of an Inference."""

    namespace: str
    name: str
    rows: Sequence[MetricsRow]
    judged: Sequence[JudgedRow]  # on the page of one service


class MetricsList(Wire, frozen=True):
    """The requests of the services that a person may list."""

    problem: str  # why nothing is known of any of them; empty: there is a Prometheus to ask
    services: Sequence[ServiceMetrics]  # as many as are asked about at a time
    left_out: int
