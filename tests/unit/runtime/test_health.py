"""Probes over a real socket."""

import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from kubedl.runtime import health
from kubedl.runtime.metrics import Metrics


class Operator:
    """What is asked."""

    def __init__(self) -> None:
        self.dead: list[str] = []
        self.missing: list[str] = []
        self.address = ""

    async def ask(self, path: str) -> tuple[int, str]:
        async with aiohttp.ClientSession() as session, session.get(f"http://{self.address}{path}") as response:
            return response.status, await response.text()


@pytest.fixture
async def operator() -> AsyncIterator[Operator]:
    asked = Operator()
    served = health.serve(
        "127.0.0.1:0", dead=lambda: asked.dead, missing=lambda: asked.missing, metrics=Metrics().render
    )
    async with served as asked.address:
        yield asked


async def test_all_is_well(operator: Operator) -> None:
    assert [await operator.ask("/healthz"), await operator.ask("/readyz")] == [(200, "ok\n")] * 2


async def test_what_is_missing_is_listed(operator: Operator) -> None:
    """Whoever asks why an operator does not become ready gets the answer from the probe itself."""
    operator.missing = ["pods", "tfjobs.training.kubedl.io"]
    assert await operator.ask("/readyz") == (503, "missing: pods\nmissing: tfjobs.training.kubedl.io\n")
    assert (await operator.ask("/healthz"))[0] == 200
    operator.missing = []
    assert (await operator.ask("/readyz"))[0] == 200


async def test_what_is_dead_is_listed(operator: Operator) -> None:
    operator.dead = ["reflector pods"]
    assert await operator.ask("/healthz") == (503, "dead: reflector pods\n")


async def test_metrics_are_served_as_prometheus_reads_them(operator: Operator) -> None:
    status, text = await operator.ask("/metrics")
    assert status == 200
    assert "# TYPE kubedl_leader gauge" in text


async def test_nothing_else_is_served(operator: Operator) -> None:
    assert (await operator.ask("/"))[0] == 404


async def test_the_port_is_free_again_afterwards() -> None:
    nothing: list[str] = []
    for _ in range(2):
        async with health.serve(
            "127.0.0.1:0", dead=lambda: nothing, missing=lambda: nothing, metrics=lambda: b""
        ) as address:
            again = address
    async with health.serve(again, dead=lambda: nothing, missing=lambda: nothing, metrics=lambda: b"") as address:
        assert address == again


@pytest.mark.parametrize(("given", "bound"), [(":0", "127.0.0.1"), ("[::1]:0", "[::1]"), ("localhost:0", "localhost")])
async def test_addresses_in_every_form(given: str, bound: str) -> None:
    """Without a host it is loopback: metrics are not for everybody by accident."""
    nothing: list[str] = []
    async with (
        health.serve(given, dead=lambda: nothing, missing=lambda: nothing, metrics=lambda: b"") as address,
        aiohttp.ClientSession() as session,
        session.get(f"http://{address}/healthz") as response,
    ):
        assert response.status == 200
        assert address.rpartition(":")[0] == bound


async def test_every_address_is_of_either_family() -> None:
    """A kubelet asks a pod by the only one that it may have."""
    nothing: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]  # free as soon as it is closed
    async with health.serve(f"*:{port}", dead=lambda: nothing, missing=lambda: nothing, metrics=lambda: b"") as address:
        assert address == f"*:{port}"
        async with aiohttp.ClientSession() as session:
            for host in ("127.0.0.1", "[::1]"):
                async with session.get(f"http://{host}:{port}/healthz") as response:
                    assert response.status == 200
