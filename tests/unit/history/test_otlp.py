"""Log records for OpenTelemetry collectors, and what is done about each answer."""

import gzip
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

from kubedl.history.observation import Closing
from kubedl.history.sink import RejectedError, SinkUnavailableError
from kubedl.history.sinks import otlp
from kubedl.history.sinks.otlp import OtlpError, OtlpLogs, record, value
from kubedl.kube import codec
from tests.history.builders import NOW, job, job_row, pod, pod_row


class Collector:
    """Answers with a status, and keeps what was sent."""

    def __init__(self) -> None:
        self.status, self.answer = 200, "{}"
        self.headers: list[dict[str, str]] = []
        self.requests: list[dict[str, Any]] = []

    async def receive(self, request: web.Request) -> web.Response:
        """One request."""
        self.headers.append({name.lower(): text for name, text in request.headers.items()})
        self.requests.append(codec.decode(await request.read(), dict))
        return web.Response(status=self.status, text=self.answer)

    @property
    def sizes(self) -> list[int]:
        """How many records each request had."""
        return [len(one["resourceLogs"][0]["scopeLogs"][0]["logRecords"]) for one in self.requests]


@asynccontextmanager
async def collecting(environment: dict[str, str] | None = None) -> AsyncIterator[tuple[Collector, OtlpLogs]]:
    """A collector, and a sink that sends to it."""
    collector, application = Collector(), web.Application()
    application.router.add_post("/v1/logs", collector.receive)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    sink = OtlpLogs("prod", f"http://{host}:{port}", environment or {})
    try:
        yield collector, sink
    finally:
        await sink.close()
        await runner.cleanup()


def attributes(pairs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Key to text."""
    return {pair["key"]: pair["value"]["stringValue"] for pair in pairs}


def test_a_record_says_which_state_of_which_object_it_is() -> None:
    """By attributes, so that a backend can search; the rest is the body. Secrets are in neither."""
    made = record(job_row(job("bert", identity="u1", version=7, user="ada", state="Failed")))
    assert attributes(made["attributes"]) == {
        "log.record.uid": "jobs/u1/7/",
        "kubedl.table": "jobs",
        "kubedl.uid": "u1",
        "k8s.namespace.name": "team-a",
        "kubedl.kind": "PyTorchJob",
        "kubedl.name": "bert",
        "kubedl.state": "Failed",
        "enduser.id": "ada",
    }
    assert (made["eventName"], made["severityText"], made["severityNumber"]) == ("kubedl.history.jobs", "ERROR", 17)
    assert made["timeUnixNano"] == str(int(NOW.timestamp()) * 10**9)
    body = {pair["key"]: pair["value"] for pair in made["body"]["kvlistValue"]["values"]}
    assert body["gpus"] == {"intValue": "8"}
    assert "spec" in str(body["body"])
    assert "canary" not in str(made)


def test_a_deletion_is_another_record_than_the_state_before() -> None:
    """Also with the same version."""
    owner = job()
    gone = pod_row(pod(owner, identity="p"), deleted=True, now=NOW + timedelta(hours=1))
    seen = pod_row(pod(owner, identity="p"))
    missed = Closing("pods", "p", NOW, NOW)
    found = {attributes(record(one)["attributes"])["log.record.uid"] for one in (gone, seen, missed)}
    assert found == {"pods/p/11/Observed", "pods/p/11/", "pods/p//Missed"}


def test_values_are_those_of_protobuf_in_json() -> None:
    """Whole numbers are texts, and what is nested too deep is left out."""
    assert value({"a": [1, 2.5, True, None]}) == {
        "kvlistValue": {
            "values": [
                {
                    "key": "a",
                    "value": {
                        "arrayValue": {"values": [{"intValue": "1"}, {"doubleValue": 2.5}, {"boolValue": True}, {}]}
                    },
                }
            ]
        }
    }
    deep: Any = "x"
    for _ in range(2000):
        deep = [deep]
    assert "nested too deep" in str(value(deep))


async def test_a_batch_is_sent_compressed_and_in_bounded_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the headers of the environment, and the name of the cluster."""
    async with collecting({"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20x,tenant=a"}) as (collector, sink):
        rows = [job_row(job()) for _ in range(10)]
        monkeypatch.setattr(otlp, "MOST_BYTES", 3 * len(codec.encode(record(rows[0]))) + 10)
        await sink.write(rows)
    assert collector.sizes == [3, 3, 3, 1]
    assert (collector.headers[0]["authorization"], collector.headers[0]["tenant"]) == ("Bearer x", "a")
    assert collector.headers[0]["content-encoding"] == "gzip"
    told = attributes(collector.requests[0]["resourceLogs"][0]["resource"]["attributes"])
    assert told == {"service.name": "kubedl-recorder", "k8s.cluster.name": "prod"}


@pytest.mark.parametrize(
    ("status", "failure"),
    [(400, RejectedError), (413, RejectedError), (401, SinkUnavailableError), (503, SinkUnavailableError)],
)
async def test_only_what_is_invalid_is_given_up(status: int, failure: type[Exception]) -> None:
    """A collector that is busy, or whose key is wrong, is asked again."""
    async with collecting() as (collector, sink):
        collector.status, collector.answer = status, "why not"
        with pytest.raises(failure, match="why not"):
            await sink.write([job_row(job())])


@pytest.mark.parametrize("status", [200, 202, 204])
async def test_what_was_taken_is_not_sent_again(status: int) -> None:
    """Some receivers answer that they will write it soon, as OpenTelemetry's own exporters accept."""
    async with collecting() as (collector, sink):
        collector.status = status
        await sink.write([job_row(job())])


async def test_nobody_answers() -> None:
    """Asked again, too."""
    sink = OtlpLogs("prod", "http://127.0.0.1:1", {})
    with pytest.raises(SinkUnavailableError):
        await sink.write([job_row(job())])
    await sink.close()


async def test_a_partial_success_is_not_repeated() -> None:
    """The records that were taken would be there twice."""
    async with collecting() as (collector, sink):
        collector.answer = '{"partialSuccess": {"rejectedLogRecords": "1", "errorMessage": "too old"}}'
        await sink.write([job_row(job()), job_row(job())])
        collector.answer = "no JSON"
        await sink.write([job_row(job())])
    assert collector.sizes == [2, 1]


@pytest.mark.parametrize("endpoint", ["", "collector:4318", "ftp://collector", "http://user:hidden@collector"])
def test_a_wrong_address_is_explained(endpoint: str) -> None:
    """Without repeating it."""
    with pytest.raises(OtlpError, match="otlp:http://collector:4318") as refusal:
        OtlpLogs("prod", endpoint, {})
    assert "hidden" not in str(refusal.value)


def test_wrong_headers_are_explained() -> None:
    """Without repeating them."""
    with pytest.raises(OtlpError, match="OTEL_EXPORTER_OTLP_HEADERS") as refusal:
        OtlpLogs("prod", "http://collector:4318", {"OTEL_EXPORTER_OTLP_HEADERS": "hidden"})
    assert "hidden" not in str(refusal.value)


def test_requests_are_the_same_each_time() -> None:
    """No time in the compression."""
    sink = OtlpLogs("prod", "http://collector:4318/v1/logs", {})
    assert sink._request([b"{}"]) == sink._request([b"{}"])  # noqa: SLF001
    assert b"logRecords" in gzip.decompress(sink._request([b"{}"]))  # noqa: SLF001
