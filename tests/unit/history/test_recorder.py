"""The recorder beside a model of the API server: the sink ends with what was true, whatever went wrong."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import pytest
from prometheus_client import CollectorRegistry

from kubedl.history.kinds import POD_KIND
from kubedl.history.observation import Change
from kubedl.history.recorder import Recorder, Settings
from kubedl.history.recorder_metrics import RecorderMetrics
from kubedl.history.sink import Epoch, FencedError, Sink, SinkUnavailableError
from tests.unit.history.memory_sink import MemorySink
from tests.unit.runtime.fake_server import Server

pytestmark = pytest.mark.looptime


@asynccontextmanager
async def recording(
    server: Server, sink: MemorySink, *others: Sink, most: int = 1000
) -> AsyncIterator[CollectorRegistry]:
    """A recorder of pods."""
    registry = CollectorRegistry()
    recorder = Recorder(
        server.client, [POD_KIND], [sink, *others], RecorderMetrics(registry), settings=Settings(most_pending=most)
    )
    task = asyncio.ensure_future(recorder.run(Epoch()))
    try:
        yield registry
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


class SilentCollector:
    """A sink that is a log of changes, and never answers or is always down."""

    name = "collector"

    def __init__(self, *, hangs: bool) -> None:
        self._hangs = hangs

    async def claim(self, epoch: Epoch) -> None:
        """Nothing to claim."""

    async def write(self, batch: Sequence[Change]) -> None:
        """Fail."""
        if self._hangs:
            await asyncio.Event().wait()
        raise SinkUnavailableError("down")

    async def close(self) -> None:
        """Nothing to release."""


def put(server: Server, name: str, phase: str = "Running") -> None:
    """Create or change a pod."""
    server.put(name, metadata={"creationTimestamp": "2026-11-17T12:00:00Z"}, status={"phase": phase})


async def test_every_state_is_recorded_as_it_is_observed() -> None:
    """On creation, not on deletion; and the last state is that of the deletion."""
    server, sink = Server(), MemorySink()
    put(server, "before")
    async with recording(server, sink):
        await asyncio.sleep(5)
        put(server, "later", "Pending")
        await asyncio.sleep(1)
        assert sink.states() == {"before": "Running", "later": "Pending"}
        put(server, "later", "Succeeded")
        server.remove("before")
        await asyncio.sleep(1)
        assert sink.states() == {"before": "Observed", "later": "Succeeded"}


async def test_what_died_while_no_recorder_ran_is_closed() -> None:
    """The next recorder finds open rows without objects."""
    server, sink = Server(), MemorySink()
    put(server, "stays")
    put(server, "dies")
    async with recording(server, sink):
        await asyncio.sleep(5)
    server.remove("dies")
    async with recording(server, sink):
        await asyncio.sleep(5)
        assert sink.states() == {"stays": "Running", "dies": "Missed"}


async def test_an_outage_of_the_sink_loses_nothing() -> None:
    """States wait, each object's newest only, and are written when the sink is back."""
    server, sink = Server(), MemorySink()
    put(server, "a")
    async with recording(server, sink) as registry:
        await asyncio.sleep(5)
        sink.down = True
        for number in range(20):
            put(server, "b", f"Phase{number}")
        put(server, "c")
        server.remove("a")
        server.remove("c")
        await asyncio.sleep(60)
        assert registry.get_sample_value("kubedl_recorder_pending", {"sink": "memory"}) == 0  # the batch in flight
        assert sink.states() == {"a": "Running"}
        sink.down = False
        await asyncio.sleep(60)
        assert sink.states() == {"a": "Observed", "b": "Phase19", "c": "Observed"}


async def test_memory_is_bounded_during_an_outage() -> None:
    """Dropped states come back with a list; those of deleted objects are kept longest."""
    server, sink = Server(), MemorySink()
    put(server, "first")
    async with recording(server, sink, most=10) as registry:
        await asyncio.sleep(5)
        sink.down = True
        put(server, "in flight")
        await asyncio.sleep(5)
        server.remove("first")
        for number in range(50):
            put(server, f"pod-{number}")
        await asyncio.sleep(5)
        assert registry.get_sample_value("kubedl_recorder_pending", {"sink": "memory"}) == 10
        sink.down = False
        await asyncio.sleep(120)
        expected = {f"pod-{number}": "Running" for number in range(50)}
        assert sink.states() == {**expected, "first": "Observed", "in flight": "Running"}
        assert registry.get_sample_value("kubedl_recorder_lost_total", {"sink": "memory"}) == 0


async def test_deletions_beyond_the_bound_are_closed_as_missed() -> None:
    """Nothing stays open, and what was lost is counted."""
    server, sink = Server(), MemorySink()
    for number in range(30):
        put(server, f"pod-{number}")
    async with recording(server, sink, most=10) as registry:
        await asyncio.sleep(60)
        assert len(sink.rows) == 30
        sink.down = True
        put(server, "in flight")
        await asyncio.sleep(5)
        for number in range(30):
            server.remove(f"pod-{number}")
        await asyncio.sleep(5)
        sink.down = False
        await asyncio.sleep(120)
        states = sink.states()
        assert states.pop("in flight") == "Running"
        assert sorted(states.values()) == ["Missed"] * 20 + ["Observed"] * 10
        assert registry.get_sample_value("kubedl_recorder_lost_total", {"sink": "memory"}) == 20


async def test_a_row_that_the_sink_rejects_costs_the_others_nothing() -> None:
    """It is dropped alone, and counted."""
    server, sink = Server(), MemorySink()
    for number in range(9):
        put(server, f"pod-{number}")
    sink.rejects = {server.state()["pod-4"].body["metadata"]["uid"]}
    async with recording(server, sink) as registry:
        await asyncio.sleep(5)
        assert sorted(sink.states()) == [f"pod-{number}" for number in range(9) if number != 4]
        assert registry.get_sample_value("kubedl_recorder_rejected_total", {"sink": "memory"}) == 1


async def test_a_recorder_that_was_replaced_ends() -> None:
    """It does not try again: another one writes."""
    server, sink = Server(), MemorySink()
    recorder = Recorder(server.client, [POD_KIND], [sink], RecorderMetrics(CollectorRegistry()), settings=Settings())
    running = asyncio.ensure_future(recorder.run(Epoch()))
    await asyncio.sleep(5)
    sink.fenced = True
    put(server, "a")
    with pytest.raises(ExceptionGroup) as caught:
        await running
    assert caught.group_contains(FencedError)


async def test_the_lag_is_measured_from_the_observation() -> None:
    """An outage shows in the age of the oldest waiting state, and later in the histogram."""
    server, sink = Server(), MemorySink()
    async with recording(server, sink) as registry:
        await asyncio.sleep(5)
        sink.down = True
        put(server, "in flight")
        await asyncio.sleep(1)
        put(server, "waiting")
        await asyncio.sleep(100)
        age = registry.get_sample_value("kubedl_recorder_oldest_seconds", {"sink": "memory"})
        assert age == pytest.approx(100)
        sink.down = False
        await asyncio.sleep(60)
        total = registry.get_sample_value("kubedl_recorder_lag_seconds_sum", {"sink": "memory"})
        assert total is not None
        assert 200 < total < 300


@pytest.mark.parametrize("hangs", [True, False])
async def test_a_collector_that_is_down_delays_nothing_in_the_database(hangs: bool) -> None:
    """Not even what the database's own queue had dropped, which is listed again; its own losses are counted."""
    server, sink = Server(), MemorySink()
    async with recording(server, sink, SilentCollector(hangs=hangs), most=20) as registry:
        await asyncio.sleep(5)
        sink.down = True
        for number in range(100):
            put(server, f"pod-{number}")
        await asyncio.sleep(5)
        sink.down = False
        await asyncio.sleep(120)
        assert len(sink.states()) == 100
        assert (registry.get_sample_value("kubedl_recorder_lost_total", {"sink": "collector"}) or 0) >= 50
        assert registry.get_sample_value("kubedl_recorder_lost_total", {"sink": "memory"}) == 0
        listed = [call for call in server.called("watch") if "resourceVersion" not in call.detail]
        await asyncio.sleep(300)
        assert [call for call in server.called("watch") if "resourceVersion" not in call.detail] == listed
