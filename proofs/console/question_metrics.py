"""What a Prometheus has measured before the questions are asked: GPUs of last month, and requests of a canary."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from kubedl.serving.rollout.promql import Target

EVERY = timedelta(seconds=20)  # between two samples of the gateway
REQUESTS, FAILURES = 400, 2  # in that time
FAILED, P99 = FAILURES / REQUESTS, 0.3
# 98 of 100 answers come within 250 ms, and all within 350 ms: 99 of 100 within 300 ms.
BUCKETS = {"0.25": REQUESTS * 98 // 100, "0.35": REQUESTS, "+Inf": REQUESTS}
LOOKS = timedelta(seconds=150)  # between two samples of a GPU
GPUS, LENGTH = 3, timedelta(days=2)
MEASURED = GPUS * LENGTH
IDLE = LENGTH / 2  # the first GPU, for the first half


def past(canary: Target, namespace: str, month: datetime) -> str:
    """In the format of OpenMetrics; the gateway has counted until a little after now, as nobody does it later."""
    return "\n".join([*_gpus(namespace, month + timedelta(days=4)), *_requests(canary, datetime.now(UTC)), "# EOF\n"])


def _gpus(namespace: str, began: datetime) -> Iterator[str]:
    """As DCGM's exporter is scraped with the labels of pods; the last GPU is held by nobody."""
    for gpu in range(GPUS + 1):
        pod = f'exported_namespace="{namespace}",exported_pod="month-{gpu}",' if gpu < GPUS else ""
        labels = f'{pod}namespace="gpu-operator",gpu="{gpu}",Hostname="node-1"'
        for number in range(LENGTH // LOOKS):
            moment = began + number * LOOKS
            use = 3 if (gpu == 0 and moment - began < IDLE) or gpu == GPUS else 96
            yield f"DCGM_FI_DEV_GPU_UTIL{{{labels}}} {use} {moment.timestamp():.0f}"


def _requests(canary: Target, now: datetime) -> Iterator[str]:
    """Counters that grow evenly."""
    of, began = f'service="{canary.backend}"', now - timedelta(hours=3)
    moments = [(number, (began + number * EVERY).timestamp()) for number in range(timedelta(hours=4) // EVERY)]
    for code, count in (("200", REQUESTS - FAILURES), ("503", FAILURES)):
        for number, moment in moments:
            yield f'traefik_service_requests_total{{{of},code="{code}"}} {number * count} {moment:.0f}'
    for bound, count in BUCKETS.items():
        for number, moment in moments:
            series = f'traefik_service_request_duration_seconds_bucket{{{of},le="{bound}"}}'
            yield f"{series} {number * count} {moment:.0f}"
