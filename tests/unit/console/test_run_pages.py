"""A job beside others like it: when those started, and what the last good one had."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.drivers.recorded_past import PastJob
from kubedl.console import run_pages
from kubedl.console.history_source import History
from kubedl.console.problems import RefusalError
from kubedl.console.run_pages import ENOUGH, part_of, series
from kubedl.history.observed import RecordedJob
from kubedl.history.rows import body_of
from kubedl.kube.types.meta import ObjectKey
from tests.unit.console.past import Past, with_history
from tests.unit.console.world import NOW, World, caller

ADA, BEN = caller("ada"), caller("ben")
QUEUE = {"labels": {"kueue.x-k8s.io/queue-name": "gpus"}}
HOUR = timedelta(hours=1)


def past_jobs() -> tuple[PastJob, ...]:
    """Twenty jobs that waited 1 to 20 minutes, among others that are not like them, and a good run that is gone."""
    one = PastJob("nlp", "alike", NOW - HOUR, queue="gpus", gpus=8)
    alike = [
        replace(one, name=f"alike-{number}", uid=f"a-{number}", waited=timedelta(minutes=number))
        for number in range(1, ENOUGH + 1)
    ]
    late = timedelta(hours=9)
    others = (
        replace(one, name="of-another-queue", uid="o-1", queue="", waited=late),
        replace(one, name="larger", uid="o-2", gpus=17, waited=late),
        replace(one, name="smaller", uid="o-3", gpus=3, waited=late),
        replace(one, name="older", uid="o-4", created=NOW - timedelta(days=31), waited=late),
        replace(one, name="of-others", uid="o-5", namespace="vision", waited=late),
        replace(one, name="of-a-hidden-kind", uid="o-6", kind="TFJob", waited=late),
    )
    good = PastJob("nlp", "bert-r2", NOW - 3 * HOUR, queue="gpus", gpus=4, data="s3://data/v1", uid="good")
    failed = PastJob("nlp", "bert-r3", NOW - 2 * HOUR, state="Failed", queue="gpus", gpus=4, uid="bad")
    hidden = PastJob("nlp", "bert-r4", NOW - 2 * HOUR, kind="TFJob", gpus=4, uid="hidden")
    return (*alike, *others, good, failed, hidden)


@pytest.fixture
async def past(world: World, tmp_path: Path) -> AsyncIterator[Past]:
    """A history with these."""
    async with with_history(world, tmp_path, past_jobs()) as made:
        yield made


def put(world: World, name: str, gpus: int, born: timedelta, state: str = "Failed", **spec: Any) -> None:  # noqa: ANN401
    """A PyTorchJob with one worker."""
    container = {"name": "main", "image": "train:1", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    container |= spec.pop("container", {})
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    metadata = {**QUEUE, "creationTimestamp": (NOW - born).strftime("%Y-%m-%dT%H:%M:%SZ")}
    whole = {"pytorchReplicaSpecs": {"Worker": worker}, **spec}
    world.put_whole_job("nlp", name, metadata, whole, {"state": state})


async def test_the_waits_of_jobs_of_the_queue_and_of_about_the_size_count(past: Past) -> None:
    """Between half as many GPUs and twice as many; not those of kinds and namespaces that a person may not list."""
    put(past.world, "new", 8, HOUR, "Queuing")
    page = await past.world.pages.start(ADA, "pytorchjob", ObjectKey("nlp", "new"))
    # The good run and the failed one have four GPUs and waited two minutes.
    assert (page.waits, page.queue, page.least_gpus, page.most_gpus) == (ENOUGH + 2, "gpus", 4, 16)
    assert (page.half_seconds, page.most_seconds) == (9 * 60, 18 * 60)


async def test_few_waits_are_no_guess(past: Past) -> None:
    put(past.world, "small", 3, HOUR, "Queuing")
    page = await past.world.pages.start(ADA, "pytorchjob", ObjectKey("nlp", "small"))
    assert (page.waits, page.half_seconds, page.most_seconds) == (3, None, None)
    with pytest.raises(RefusalError):
        await past.world.pages.start(BEN, "pytorchjob", ObjectKey("nlp", "small"))


async def test_without_a_history_nothing_is_guessed(world: World) -> None:
    put(world, "new", 8, HOUR, "Queuing")
    page = await world.pages.start(ADA, "pytorchjob", ObjectKey("nlp", "new"))
    assert (page.installed, page.waits, page.half_seconds) == (False, 0, None)


async def test_the_last_good_run_may_be_gone(past: Past) -> None:
    """It is the newest that succeeded, of the same kind, and was made before."""
    put(past.world, "bert-r5", 8, HOUR)
    page = await past.world.pages.changes(ADA, "pytorchjob", ObjectKey("nlp", "bert-r5"))
    assert (page.name, page.uid, page.there, page.history) == ("bert-r2", "good", False, "asked")
    changed = {one.field: (one.before, one.now) for one in page.rows}
    assert changed["Worker.main.resources.limits.nvidia.com/gpu"] == ("4", "8")
    assert changed["Worker.main.image"] == ("", "train:1")
    assert changed["cacheBackend.dataset.dataSources.0.location"] == ("s3://data/v1", "")
    with pytest.raises(RefusalError):
        await past.world.pages.changes(BEN, "pytorchjob", ObjectKey("nlp", "bert-r5"))


async def test_a_good_run_that_is_there_is_found_without_a_history(world: World) -> None:
    """Nothing else than what changed is said; being suspended is no change."""
    put(world, "bert", 4, 3 * HOUR, "Succeeded", suspend=True)
    put(world, "bert-r2", 4, 2 * HOUR, "Succeeded", container={"image": "train:2"})
    put(world, "bert-r3", 4, HOUR, container={"image": "train:3"}, codeSource={"revision": "abc"})
    put(world, "bert-r4", 4, HOUR / 2, "Succeeded")
    put(world, "roberta", 4, 2 * HOUR, "Succeeded")
    page = await world.pages.changes(ADA, "pytorchjob", ObjectKey("nlp", "bert-r3"))
    assert (page.name, page.there, page.history) == ("bert-r2", True, "absent")
    assert [(one.field, one.before, one.now) for one in page.rows] == [
        ("Worker.main.image", "train:2", "train:3"),
        ("codeSource.revision", "", "abc"),
    ]
    first = await world.pages.changes(ADA, "pytorchjob", ObjectKey("nlp", "bert"))
    assert (first.name, first.rows) == ("", ())


async def test_of_many_good_runs_one_is_compared(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that runs each hour has thousands; to read them all would stop every stream for seconds."""
    read: list[str] = []

    def reading(job: RecordedJob) -> dict[str, Any]:
        read.append(job.metadata.name)
        return body_of(job)

    monkeypatch.setattr(run_pages, "body_of", reading)
    for number in range(1, 6):
        put(world, f"bert-r{number}", 4, (9 - number) * HOUR, "Succeeded")
    put(world, "bert-r6", 4, HOUR)
    page = await world.pages.changes(ADA, "pytorchjob", ObjectKey("nlp", "bert-r6"))
    assert (page.name, read) == ("bert-r5", ["bert-r5", "bert-r6"])


async def test_a_history_that_is_down_is_said(world: World) -> None:
    world.have(History(problem="it is down"))
    put(world, "bert", 4, 2 * HOUR, "Succeeded")
    put(world, "bert-r2", 4, HOUR)
    page = await world.pages.changes(ADA, "pytorchjob", ObjectKey("nlp", "bert-r2"))
    assert (page.name, page.rows, page.history) == ("bert", [], "failed")


def test_runs_have_names_that_differ_in_a_number() -> None:
    same = ("bert", "bert-r2", "bert-v7", "bert-v7-r2", "bert-12")
    assert {series(name) for name in same} == {"bert"}
    assert [series(name) for name in ("resnet50", "llama3-8b-sft-2", "-r2", "7")] == [
        "resnet50",
        "llama3-8b-sft",
        "-r2",
        "7",
    ]


def test_a_part_of_figures() -> None:
    assert [part_of([1, 2, 3, 4], share) for share in (0.5, 0.9)] == [2, 4]
    assert part_of([7], 0.5) == 7
