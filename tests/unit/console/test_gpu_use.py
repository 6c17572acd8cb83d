"""How much of the GPU time of namespaces was idle: of what a person may see, and unknown where nothing is measured."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from kubedl.console.gpu_use import DcgmUse, GpuUse, Use, Uses
from kubedl.console.problems import RefusalError
from kubedl.console.wire_cost import IdlePage
from kubedl.serving.rollout.prometheus import MetricsUnavailableError
from tests.unit.console.past import HIDDEN, Past, with_history
from tests.unit.console.world import Clock, World, caller

ADA, BEN = caller("ada"), caller("ben")
BEGAN, ENDED = datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)


@dataclass
class Source:
    """A Prometheus that has measured two namespaces, of which one has no job in the history."""

    asked: list[tuple[datetime, datetime]] = field(default_factory=list)
    fails: bool = False

    async def uses(self, began: datetime, ended: datetime) -> Uses:
        """Answer."""
        self.asked.append((began, ended))
        if self.fails:
            raise MetricsUnavailableError("it is down")
        return {"nlp": Use(3600, 900), "vision": Use(60, 60), "elsewhere": Use(1, 1)}


@asynccontextmanager
async def measured(world: World, directory: Path, source: Source) -> AsyncIterator[Past]:
    """A console with a history and this source."""
    async with with_history(world, directory) as past:
        world.pages = replace(world.pages, gpu_use=GpuUse(world.clock, source, ""))
        yield past


def rows(page: IdlePage) -> list[tuple[str, int, int]]:
    """The rows as tuples."""
    return [(one.name, one.measured_seconds, one.idle_seconds) for one in page.rows]


async def test_namespaces_are_those_whose_jobs_a_person_may_see(world: World, tmp_path: Path) -> None:
    async with measured(world, tmp_path, source := Source()):
        costs = world.pages.of_costs
        page = await costs.idle(ADA, "month", "")
        assert (rows(page), page.problem) == ([], "")  # nothing ran there last month
        assert rows(await costs.idle(ADA, "30", "")) == [("nlp", 3600, 900)]
        assert rows(await costs.idle(BEN, "30", "")) == [("vision", 60, 60)]
        assert rows(await costs.idle(ADA, "30", "nlp")) == [("nlp", 3600, 900)]
        with pytest.raises(RefusalError):
            await costs.idle(ADA, "30", "vision")
    assert source.asked == [
        (BEGAN, ENDED),
        (datetime(2026, 10, 20, tzinfo=UTC), datetime(2026, 11, 18, 12, tzinfo=UTC)),
    ]
    assert HIDDEN not in repr(page)


async def test_what_is_not_measured_is_not_known(world: World, tmp_path: Path) -> None:
    async with measured(world, tmp_path, Source(fails=True)):
        page = await world.pages.of_costs.idle(ADA, "30", "")
        assert (rows(page), page.problem) == ([], "it is down")
        without = replace(world.pages, gpu_use=GpuUse(Clock()))
        assert "no Prometheus" in (await without.of_costs.idle(ADA, "30", "")).problem


@pytest.mark.parametrize(
    ("answer", "status"), [({}, 200), ({"status": "success", "data": {"result": [1]}}, 200), ({"status": "error"}, 400)]
)
async def test_a_strange_answer_is_no_figure(answer: object, status: int) -> None:
    """Nor are its words quoted."""

    async def query(_: web.Request) -> web.Response:
        return web.json_response(answer, status=status)

    application = web.Application()
    application.router.add_get("/api/v1/query", query)
    async with TestServer(application) as server, aiohttp.ClientSession() as session:
        with pytest.raises(MetricsUnavailableError):
            await DcgmUse(session, str(server.make_url("/"))).uses(BEGAN, ENDED)


async def test_long_ranges_are_looked_at_more_rarely() -> None:
    """A query is bounded, whatever the range."""
    asked: list[str] = []

    async def query(request: web.Request) -> web.Response:
        asked.append(request.query["query"])
        value = "40" if "count_over_time" in asked[-1] else "10"
        sample = {"metric": {"kubedl_team": "nlp"}, "value": [0, value]}
        return web.json_response({"status": "success", "data": {"resultType": "vector", "result": [sample]}})

    application = web.Application()
    application.router.add_get("/api/v1/query", query)
    async with TestServer(application) as server, aiohttp.ClientSession() as session:
        source = DcgmUse(session, str(server.make_url("/")))
        assert await source.uses(ENDED - timedelta(days=1), ENDED) == {"nlp": Use(40 * 300, 10 * 300)}
        assert await source.uses(ENDED - timedelta(days=90), ENDED) == {"nlp": Use(40 * 3900, 10 * 3900)}
    assert "[86400s:300s]" in asked[0]
    assert "[7776000s:3900s]" in asked[-1]
