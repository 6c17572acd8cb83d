"""The lineage of a model: from the cache and the history, and nothing that a person may not list."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from harness.drivers.recorded_past import PastJob
from kubedl.console import history_reader, lineage_pages
from kubedl.console.history_reader import TRAINED_SECONDS
from kubedl.console.history_source import History
from kubedl.console.object_kinds import INFERENCES, MODEL_VERSIONS, MODELS
from kubedl.console.problems import RefusalError
from kubedl.console.wire_lineage import LineageNode, LineagePage
from kubedl.history.queries.answers import Trained
from kubedl.history.queries.lineage import trained
from kubedl.kube.types.meta import ObjectKey
from tests.unit.console.past import DAY, Past, with_history
from tests.unit.console.test_model_pages import put_models
from tests.unit.console.world import JOBS, NOW, World, caller

ADA, BEN, EVA = caller("ada"), caller("ben"), caller("eva")
BERT = ObjectKey("nlp", "bert")
SECRET = "hidden-from-ada"  # noqa: S105 - a word, of another team
GONE = PastJob("nlp", "bert-1", NOW - DAY, user="mei.lin", gpus=8, data="s3://me:password@mix/v11", uid="uid-gone")
FOREIGN = PastJob("vision", SECRET, NOW - DAY, user=SECRET, data=f"s3://{SECRET}", uid="uid-foreign")


@dataclass
class Queries:
    """The query about deleted jobs, counted and held."""

    count: int = 0
    held: asyncio.Event | None = None  # no answer before

    async def ask(self, *asked: Any) -> list[Trained]:  # noqa: ANN401 - as the query itself
        self.count += 1
        if self.held is not None:
            await self.held.wait()
        return list(await trained(*asked))


@pytest.fixture
async def past(world: World, tmp_path: Path) -> AsyncIterator[Past]:
    """A model of two versions: the job of the older one is gone, and recorded."""
    put_models(world)
    put_version(world, "bert-1", GONE.name, GONE.uid)
    world.reviewer.allow("ada", "nlp", MODELS.name, MODEL_VERSIONS.name, INFERENCES.name)
    async with with_history(world, tmp_path, (GONE, FOREIGN)) as made:
        yield made


def put_version(world: World, name: str, job: str, uid: str) -> None:
    """A version of bert that states a job."""
    origin = {"jobKind": "PyTorchJob", "jobName": job, "jobUid": uid}
    world.put(
        MODEL_VERSIONS,
        "nlp",
        name,
        metadata={"creationTimestamp": "2026-11-11T00:00:00Z"},
        spec={"modelName": "bert", "origin": origin},
    )


async def page(world: World, who: str = "ada", wanted: str = "", *, whole: bool = False) -> LineagePage:
    """The graph, as somebody gets it."""
    return await world.pages.of_lineage.lineage(caller(who), BERT, wanted, whole=whole)


def jobs(found: LineagePage) -> dict[str, LineageNode]:
    """The jobs by name."""
    return {node.name: node for node in found.nodes if node.kind == "job"}


async def test_a_job_that_is_gone_comes_from_the_history(past: Past) -> None:
    """With its data, of which no password is shown; the other one is there."""
    found = await page(past.world)
    assert {name: node.sight for name, node in jobs(found).items()} == {"bert-1": "recorded", "bert-2": "there"}
    gone = jobs(found)["bert-1"]
    assert (gone.user, gone.gpus, gone.uid, gone.job_kind) == ("mei.lin", 8, "uid-gone", "PyTorchJob")
    assert [node.name for node in found.nodes if node.kind == "data"] == ["s3://mix/v11"]
    assert (found.history, found.missing, found.left_out) == ("read", [], 0)
    assert "password" not in repr(found)
    assert "secret" not in repr(found)


async def test_a_canary_has_the_share_of_its_step(past: Past) -> None:
    """The second of two steps, of 100 percent: the older version has none left."""
    found = await page(past.world)
    shares = {edge.source: (edge.percent, edge.canary) for edge in found.edges if edge.target == "service:chat"}
    assert shares == {"version:bert-1": (0, False), "version:bert-2": (100, True)}


async def test_the_data_of_a_job_that_exists_is_its_own(past: Past) -> None:
    """By the places of its sources, or by the name of a cache that somebody else made."""
    cache = {"name": "mix", "dataset": {"dataSources": [{"location": "s3://user:pw@data/a"}, {"location": "pvc://b"}]}}
    past.world.put_whole_job("nlp", "bert-2", {}, {"cacheBackend": cache}, {})
    names = [node.name for node in (await page(past.world)).nodes if node.kind == "data"]
    assert names == ["s3://data/a", "pvc://b", "s3://mix/v11"]
    past.world.put_whole_job("nlp", "bert-2", {}, {"cacheBackend": {"name": "shared"}}, {})
    assert "shared" in [node.name for node in (await page(past.world)).nodes if node.kind == "data"]


async def test_a_job_that_may_not_be_listed_is_not_named(past: Past) -> None:
    """Neither from the cache nor from the history, nor what it used; the right that is missing is."""
    past.world.reviewer.allow("eva", "nlp", MODELS.name, MODEL_VERSIONS.name, INFERENCES.name)
    found = await page(past.world, "eva")
    assert {node.sight for node in found.nodes if node.kind == "job"} == {"hidden"}
    for word in ("uid-gone", "uid-nlp-bert-2", "s3://mix"):
        assert word not in repr(found)
    assert not [node for node in found.nodes if node.kind == "job" and (node.name or node.job_kind or node.user)]
    assert [(one.resource, one.namespace) for one in found.missing] == [(JOBS, "nlp")]
    versions = (await past.world.pages.of_models.model(EVA, BERT)).versions
    assert {(one.job, one.job_hidden) for one in versions} == {("", True)}


async def test_a_uid_of_another_team_in_a_version_shows_nothing_of_its_job(past: Past) -> None:
    """Whoever writes a version may write any uid and name into it."""
    put_version(past.world, "bert-3", SECRET, FOREIGN.uid)
    found = await page(past.world)
    forged = jobs(found)[SECRET]
    assert (forged.sight, forged.user, forged.uid) == ("gone", "", "")
    assert f"s3://{SECRET}" not in repr(found)
    put_version(past.world, "bert-3", "another-name", GONE.uid)
    assert jobs(await page(past.world))["another-name"].sight == "gone"


async def test_services_that_may_not_be_listed_are_not_in_it(past: Past) -> None:
    past.world.reviewer.allow("eva", "nlp", MODELS.name, MODEL_VERSIONS.name, JOBS)
    found = await page(past.world, "eva")
    assert not [node for node in found.nodes if node.kind == "service"]
    assert [one.resource for one in found.missing] == [INFERENCES.name]


@pytest.mark.parametrize("name", ["bert", "nothing"])
async def test_a_model_that_may_not_be_listed_is_refused_whether_it_exists_or_not(past: Past, name: str) -> None:
    with pytest.raises(RefusalError) as refused:
        await past.world.pages.of_lineage.lineage(BEN, ObjectKey("nlp", name), "", whole=False)
    assert (refused.value.status, name in str(refused.value)) == (403, False)


async def test_without_a_history_a_job_that_is_gone_has_its_name(past: Past) -> None:
    """Also if the database fails: the rest of the graph is there."""
    past.world.pages = replace(past.world.pages, history=History())
    absent = await page(past.world)
    assert (absent.history, jobs(absent)["bert-1"].sight) == ("absent", "gone")
    past.world.pages = replace(past.world.pages, history=History(problem="no driver"))
    failed = await page(past.world)
    assert (failed.history, jobs(failed)["bert-1"].sight) == ("failed", "gone")


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> Queries:
    made = Queries()
    monkeypatch.setattr(history_reader, "trained", made.ask)
    return made


async def test_a_slow_history_does_not_hold_the_page(
    past: Past, queries: Queries, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of the graph is there; and the answer, when it comes, for the next who looks."""
    monkeypatch.setattr(lineage_pages, "PATIENCE_SECONDS", 0.05)
    queries.held = asyncio.Event()
    for _ in range(2):
        found = await asyncio.wait_for(page(past.world), 5)
        assert (found.history, jobs(found)["bert-1"].sight) == ("failed", "gone")
    queries.held.set()
    monkeypatch.setattr(lineage_pages, "PATIENCE_SECONDS", 10)
    found = await page(past.world)
    assert (found.history, jobs(found)["bert-1"].sight, queries.count) == ("read", "recorded", 1)


async def test_a_deleted_job_is_remembered_for_half_a_minute(past: Past, queries: Queries) -> None:
    for _ in range(2):
        assert jobs(await page(past.world))["bert-1"].sight == "recorded"
    assert queries.count == 1
    past.world.clock.now += TRAINED_SECONDS
    await page(past.world)
    assert queries.count == 2


async def test_what_is_remembered_is_for_those_who_may_see_as_much(past: Past, queries: Queries) -> None:
    mine, theirs = ({"PyTorchJob": frozenset({name})} for name in ("nlp", "vision"))
    assert list(await past.reader.trained(mine, {"uid-gone"})) == ["uid-gone"]
    assert await past.reader.trained(theirs, {"uid-gone"}) == {}
    assert list(await past.reader.trained(mine, {"uid-gone"})) == ["uid-gone"]
    assert queries.count == 2


async def test_questions_to_the_history_are_bounded(
    past: Past, queries: Queries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_reader, "MOST_ASKED", 1)
    reader = replace(past.reader)
    queries.held = asyncio.Event()
    mine = {"PyTorchJob": frozenset({"nlp"})}
    first = asyncio.create_task(reader.trained(mine, {"uid-gone"}))
    await asyncio.sleep(0)
    with pytest.raises(RefusalError) as refused:
        await reader.trained(mine, {"another"})
    assert refused.value.status == 503
    queries.held.set()
    assert list(await first) == ["uid-gone"]


async def test_the_history_is_not_asked_if_no_job_is_gone(past: Past) -> None:
    past.world.pages = replace(past.world.pages, history=History(problem="no driver"))
    put_version(past.world, "bert-1", "bert-2", "uid-nlp-bert-2")
    assert (await page(past.world)).history == ""


async def test_older_versions_come_on_request(world: World) -> None:
    """By name, or all of them, as far as there is room."""
    world.reviewer.allow("ada", "nlp", MODELS.name, MODEL_VERSIONS.name, INFERENCES.name)
    world.put(MODELS, "nlp", "bert")
    for number in range(120):
        created = f"2026-0{1 + number // 28}-{1 + number % 28:02}T00:00:00Z"
        spec = {"modelName": "bert", "origin": {"codeRevision": f"r{number}"}}
        world.put(MODEL_VERSIONS, "nlp", f"v{number:03}", metadata={"creationTimestamp": created}, spec=spec)

    async def names(wanted: str = "", *, whole: bool = False) -> list[str]:
        found = await page(world, wanted=wanted, whole=whole)
        shown = [node.name for node in found.nodes if node.kind == "version"]
        assert found.left_out == 120 - len(shown)
        assert len(found.nodes) <= (300 if whole else 60)
        return shown

    assert await names() == ["v119", "v118", "v117", "v116", "v115"]
    assert await names("v007") == ["v119", "v118", "v117", "v116", "v115", "v007"]
    assert len(await names(whole=True)) == 100
