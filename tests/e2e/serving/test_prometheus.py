"""Questions about a version, asked of a real Prometheus that looks at what Traefik would show."""

import asyncio
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import aiohttp
import pytest

from harness.drivers.prometheus import RealPrometheus
from kubedl.console.measuring import opened
from kubedl.console.metric_pages import NOTHING_COUNTED
from kubedl.console.object_kinds import INFERENCES
from kubedl.console.wire_metrics import MetricsRow
from kubedl.kube.types.meta import ObjectKey
from kubedl.serving.rollout.analysis import Metrics
from kubedl.serving.rollout.prometheus import MetricsUnavailableError, Prometheus
from kubedl.serving.rollout.promql import ISTIO, TRAEFIK, Queries, Target
from testbed import tools
from tests.unit.console.world import World, caller

TARGET = Target("team", "hello-a-next", 8080)
LABEL = "team-hello-a-next-http-8080@kubernetesgateway"
DURATION = "traefik_service_request_duration_seconds"


@dataclass
class Played:
    """A gateway's counters: of a hundred requests five fail, and two take more than 0.1 and less than 0.2 seconds."""

    requests: int = 0
    address: str = ""

    def page(self) -> str:
        lines = [f"# TYPE {DURATION} histogram", "# TYPE traefik_service_requests_total counter"]
        for code, part in (("200", 95), ("502", 5)):
            count = self.requests * part // 100
            if not count:
                continue  # a gateway has no series of a version that nobody has asked
            slow = self.requests * 2 // 100 if code == "200" else 0
            labels = f'code="{code}",method="POST",protocol="http",service="{LABEL}"'
            lines += [
                f"traefik_service_requests_total{{{labels}}} {count}",
                f'{DURATION}_bucket{{{labels},le="0.1"}} {count - slow}',
                f'{DURATION}_bucket{{{labels},le="0.2"}} {count}',
                f'{DURATION}_bucket{{{labels},le="+Inf"}} {count}',
                f"{DURATION}_sum{{{labels}}} {count / 100}",
                f"{DURATION}_count{{{labels}}} {count}",
            ]
        return "\n".join((*lines, ""))


@contextmanager
def played(*, grows: bool = True) -> Iterator[Played]:
    """Its page, and a hundred requests more every tenth of a second if it grows."""
    gateway = Played()

    class Page(BaseHTTPRequestHandler):
        """One look."""

        def do_GET(self) -> None:
            body = gateway.page().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    gateway.address = f"127.0.0.1:{server.server_address[1]}"
    ended = threading.Event()

    def count() -> None:
        while not ended.wait(0.1):
            gateway.requests += 100 * grows

    threads = [threading.Thread(target=server.serve_forever), threading.Thread(target=count)]
    for thread in threads:
        thread.start()
    try:
        yield gateway
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
        for thread in threads:
            thread.join()


async def asked(url: str, since: datetime, queries: Queries | None = None) -> Metrics | None:
    """What Prometheus says of a moment ago; None if it does not answer with numbers.

    A figure is three questions: what was scraped between two of them would count in one and not in the other.
    """
    async with aiohttp.ClientSession() as session:
        source = Prometheus(session, url, *([queries] if queries is not None else []))
        try:
            return await source.metrics(TARGET, since, datetime.now(UTC) - timedelta(seconds=2))
        except MetricsUnavailableError:
            return None


async def test_a_real_prometheus_tells_rate_and_latency() -> None:
    """A thousand requests a second, five of a hundred failed, the slowest hundredth between 0.1 and 0.2 seconds."""
    with played() as gateway, RealPrometheus(gateway.address) as prometheus:
        since = datetime.now(UTC)
        async with asyncio.timeout(60):
            while (found := await asked(prometheus.url, since)) is None or found.requests <= 3000:  # noqa: ASYNC110 - nobody else tells
                await asyncio.sleep(0.2)  # until it has looked a few times
        assert abs(found.failures / found.requests - 0.05) < 0.005
        assert found.p99 is not None
        assert timedelta(milliseconds=100) < found.p99 <= timedelta(milliseconds=200)


async def test_the_console_shows_what_a_real_prometheus_has() -> None:
    """The canary's figures; of the stable version, which nobody has asked, nothing is known."""
    world, me, key = World(), caller("ada"), ObjectKey("team", "hello")
    world.reviewer.allow("ada", "team", INFERENCES.name)
    rollout = {"phase": "Stepping", "stable": "v1", "candidate": "v2", "step": 0}
    steps = {"steps": [{"weight": 25}]}
    predictor = {"name": "a", "modelVersion": "v2"}
    status = {"predictorStatuses": [{**predictor, "trafficPercent": 100, "rollout": rollout}]}
    world.put(INFERENCES, *key, spec={"predictors": [predictor], "rollout": steps}, status=status)

    async def shown(url: str) -> list[MetricsRow]:
        async with opened(url, "", "") as measuring:
            # Of a moment ago, as in `asked`: a scrape between two of its questions would count in one of them only.
            measuring.now = lambda: datetime.now(UTC) - timedelta(seconds=2)
            world.pages = replace(world.pages, measuring=measuring)
            [service] = (await world.pages.of_metrics.service(me, key)).services
            return list(service.rows)

    with played() as gateway, RealPrometheus(gateway.address) as prometheus:
        async with asyncio.timeout(60):
            while (canary := (await shown(prometheus.url))[1].figures) is None or canary.requests <= 3000:  # noqa: ASYNC110 - nobody else tells
                await asyncio.sleep(0.2)
        stable, _ = await shown(prometheus.url)
    assert abs(canary.failures / canary.requests - 0.05) < 0.005
    assert canary.p99_seconds is not None
    assert 0.1 < canary.p99_seconds <= 0.2
    assert (stable.version, stable.figures, stable.reason) == ("v1", None, NOTHING_COUNTED)
    assert (await shown(prometheus.url))[1].reason.startswith("Prometheus does not answer")


@pytest.mark.parametrize(
    ("queries", "total", "code", "buckets", "labels"),
    [
        (TRAEFIK, "traefik_service_requests_total", "code", f"{DURATION}_bucket", f'service="{LABEL}"'),
        (
            ISTIO,
            "istio_requests_total",
            "response_code",
            "istio_request_duration_milliseconds_bucket",
            f'destination_service_namespace="team",destination_service_name="{TARGET.service}",reporter="source"',
        ),
    ],
    ids=["traefik", "istio"],
)
def test_what_new_series_begin_with_is_counted(
    tmp_path: Path, queries: Queries, total: str, code: str, buckets: str, labels: str
) -> None:
    """Seven errors between two scrapes and three in the last one count; what a series had before the step does not."""
    now = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=150)
    scale = 1000 if "milliseconds" in buckets else 1
    asked = queries.about(TARGET, now - timedelta(seconds=60), now)
    series = [
        (f'{total}{{{labels},{code}="200"}}', "100x4 110 120 130 140 150 160 170"),  # from 120 to 160
        (f'{total}{{{labels},{code}="502"}}', "_x8 7 7 7"),
        (f'{total}{{{labels},{code}="503"}}', "_x8 1 2 3"),  # 2.5 after the first, by increase()
        (f'{buckets}{{{labels},le="{0.1 * scale}"}}', "_x8 90 90 90"),
        (f'{buckets}{{{labels},le="{scale}"}}', "_x8 100 100 100"),
        (f'{buckets}{{{labels},le="+Inf"}}', "_x8 100 100 100"),
    ]
    assert_answers(tmp_path, series, dict(zip(asked, (50, 10, 0.91), strict=True)))


def test_requests_are_counted_across_a_restart_of_the_gateway(tmp_path: Path) -> None:
    """Fifteen since it restarted at 120 s, and a third more, for the scrape before that increase() extrapolates to."""
    now = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=150)
    requests = next(iter(TRAEFIK.about(TARGET, now - timedelta(seconds=60), now)))
    series = (f'traefik_service_requests_total{{service="{LABEL}"}}', "100x6 110 5 10 15")
    assert_answers(tmp_path, [series], {requests: 20})


def assert_answers(directory: Path, series: list[tuple[str, str]], expected: dict[str, float]) -> None:
    """Prometheus's own evaluation of queries at 150 s, over series that were scraped every 15 s."""
    test = {
        "interval": "15s",
        "input_series": [{"series": name, "values": values} for name, values in series],
        "promql_expr_test": [
            {"expr": expression, "eval_time": "150s", "exp_samples": [{"value": value}]}
            for expression, value in expected.items()
        ],
    }
    place = directory / "queries.test.yaml"
    place.write_text(json.dumps({"evaluation_interval": "1s", "fuzzy_compare": True, "tests": [test]}))  # JSON is YAML
    promtool = tools.binary("prometheus").with_name("promtool")
    ran = subprocess.run([promtool, "test", "rules", place], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


async def test_errors_that_come_between_two_scrapes_are_counted() -> None:
    """All at once, in series that are new, and none after them; of a real Prometheus."""
    with played(grows=False) as gateway, RealPrometheus(gateway.address) as prometheus:
        since = datetime.now(UTC)
        gateway.requests = 1000
        async with asyncio.timeout(60):
            while (found := await asked(prometheus.url, since)) is None or not found.requests:  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        assert (found.requests, found.failures) == (1000, 50)


async def test_a_question_that_prometheus_does_not_understand_is_no_figure() -> None:
    with played() as gateway, RealPrometheus(gateway.address) as prometheus:
        wrong = Queries("sum(", "sum(", "sum(")
        assert await asked(prometheus.url, datetime.now(UTC), wrong) is None


async def test_a_version_that_nobody_has_asked_has_no_requests() -> None:
    with played() as gateway, RealPrometheus(gateway.address) as prometheus:
        other = Queries("sum(nothing)", "sum(nothing)", "sum(nothing)")
        assert await asked(prometheus.url, datetime.now(UTC), other) == Metrics(0, 0, None)
