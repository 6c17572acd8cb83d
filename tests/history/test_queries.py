"""Questions to the history, the same answers on every database."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from kubedl.api.model import MODEL_VERSIONS
from kubedl.history import rows
from kubedl.history.observed import resource_of_objects
from kubedl.history.observed_pods import EVENTS, NODES
from kubedl.history.queries.cursor import Cursor, InvalidCursorError
from kubedl.history.queries.jobs import JobFilter, find_job, list_jobs
from kubedl.history.queries.lineage import lineage
from kubedl.history.queries.statistics import running, statistics
from kubedl.history.sink import Epoch
from kubedl.history.sinks.database import DatabaseSink
from kubedl.kube import codec
from tests.history.builders import NOW, job, job_row, moment, pod, pod_row, uid

USERS, NAMESPACES, STATES = ("ada", "bob", ""), ("team-a", "team-b"), ("Running", "Succeeded", "Failed", "Lost")


@pytest.fixture
async def sink(engine: AsyncEngine, cluster: str) -> DatabaseSink:
    """A sink that may write."""
    created = DatabaseSink(engine, cluster)
    await created.claim(Epoch("lease", 0, "me"))
    return created


@pytest.fixture
async def many(sink: DatabaseSink) -> list[dict[str, Any]]:
    """120 jobs, some created in the same second."""
    made = [
        job(
            f"run-{number}",
            created=NOW - timedelta(minutes=number // 3),
            user=USERS[number % 3],
            namespace=NAMESPACES[number % 2],
            state=STATES[number % 4],
            gpus=1,
            workers=1,
        )
        for number in range(120)
    ]
    await sink.write([job_row(obj) for obj in made])
    return made


async def names(engine: AsyncEngine, cluster: str, wanted: JobFilter, limit: int = 7) -> list[str]:
    """All names of a list, page by page."""
    found: list[str] = []
    cursor = ""
    async with engine.connect() as connection:
        while True:
            page = await list_jobs(connection, cluster, wanted, cursor, limit)
            assert len(page.jobs) <= limit
            found += [one.name for one in page.jobs]
            if not page.next:
                return found
            cursor = page.next


def expected(many: list[dict[str, Any]], **wanted: Any) -> list[str]:  # noqa: ANN401
    """What a list must show: newest first, then by uid."""
    chosen = [
        obj
        for obj in many
        if all(
            {
                "namespace": obj["metadata"]["namespace"],
                "user": obj["metadata"]["annotations"].get("kubedl.io/user", ""),
                "state": obj["status"]["state"],
            }[key]
            == value
            for key, value in wanted.items()
        )
    ]
    ordered = sorted(
        chosen, key=lambda obj: (obj["metadata"]["creationTimestamp"], obj["metadata"]["uid"]), reverse=True
    )
    return [obj["metadata"]["name"] for obj in ordered]


async def test_pages_show_every_job_once(engine: AsyncEngine, cluster: str, many: list[dict[str, Any]]) -> None:
    """In order, whatever the size of a page, although several were created in the same second."""
    for limit in (7, 50, 500):
        assert await names(engine, cluster, JobFilter(), limit) == expected(many)


async def test_filters(engine: AsyncEngine, cluster: str, many: list[dict[str, Any]]) -> None:
    """One at a time, and together."""
    assert await names(engine, cluster, JobFilter(namespaces=("team-a",))) == expected(many, namespace="team-a")
    assert await names(engine, cluster, JobFilter(namespaces=NAMESPACES)) == expected(many)
    assert await names(engine, cluster, JobFilter(namespaces=())) == []
    assert await names(engine, cluster, JobFilter(user="ada")) == expected(many, user="ada")
    assert await names(engine, cluster, JobFilter(state="Failed")) == expected(many, state="Failed")
    assert await names(engine, cluster, JobFilter(kind="PyTorchJob", user="bob", state="Failed")) == expected(
        many, user="bob", state="Failed"
    )
    assert await names(engine, cluster, JobFilter(kind="TFJob")) == []
    assert await names(engine, cluster, JobFilter(name="run-17")) == ["run-17"]
    assert await names(engine, cluster, JobFilter(name="RUN-17")) == []  # texts compare by bytes everywhere
    early = JobFilter(created_from=NOW - timedelta(minutes=2), created_before=NOW)
    assert await names(engine, cluster, early) == [f"run-{number}" for number in (5, 4, 3, 8, 7, 6)]


async def test_text_search_is_bounded(
    engine: AsyncEngine, cluster: str, many: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page looks at so many jobs and no more, and the next one continues there."""
    monkeypatch.setattr("kubedl.history.queries.jobs.SCANNED", 25)
    wanted = [name for name in expected(many) if "run-1" in name]
    assert await names(engine, cluster, JobFilter(text="run-1"), limit=5) == wanted
    assert await names(engine, cluster, JobFilter(text="%"), limit=5) == []
    assert await names(engine, cluster, JobFilter(text="ada", namespaces=NAMESPACES), limit=5) == expected(
        many, user="ada"
    )


async def test_a_job_with_its_pods_and_events(engine: AsyncEngine, cluster: str, sink: DatabaseSink) -> None:
    """Everything that its page shows."""
    obj = job()
    worker = pod(obj)
    event = {
        "metadata": {
            "uid": uid(),
            "namespace": "team-a",
            "resourceVersion": "5",
            "creationTimestamp": moment(NOW),
        },
        "involvedObject": {"kind": "Pod", "name": "bert-worker-0", "uid": worker["metadata"]["uid"]},
        "reason": "Scheduled",
        "message": "Successfully assigned",
    }
    await sink.write(
        [job_row(obj), pod_row(worker), rows.event_row(EVENTS.decoder.decode(codec.encode(event)), now=NOW)]
    )
    async with engine.connect() as connection:
        found = await find_job(connection, cluster, "team-a", "bert")
        assert await find_job(connection, cluster, "team-b", "bert") is None
    assert found is not None
    assert (found.job.name, found.pods[0].name, found.events[0].reason) == ("bert", "bert-worker-0", "Scheduled")
    assert "Worker" in str(found.body)


async def test_statistics(engine: AsyncEngine, cluster: str, many: list[dict[str, Any]]) -> None:
    """By user, by state, by day and user together, in a time range."""
    first, end = NOW - timedelta(days=1), NOW + timedelta(days=1)
    async with engine.connect() as connection:
        by_user = await statistics(connection, cluster, ["user"], first, end)
        assert {row.group: (row.jobs, row.gpus) for row in by_user} == dict.fromkeys(
            [("",), ("ada",), ("bob",)], (40, 40)
        )
        by_day = await statistics(connection, cluster, ["day", "state"], first, end)
        assert {row.group: row.jobs for row in by_day} == {("2026-11-17", state): 30 for state in STATES}
        early = await statistics(connection, cluster, ["kind"], NOW - timedelta(minutes=2), end, ["team-a"])
        assert [(row.group, row.jobs) for row in early] == [(("PyTorchJob",), 5)]
        with pytest.raises(ValueError, match="range"):
            await statistics(connection, cluster, ["user"], first - timedelta(days=400), end)
        with pytest.raises(ValueError, match="group by"):
            await statistics(connection, cluster, ["message"], first, end)


async def test_running_jobs_have_a_share_of_the_cluster(engine: AsyncEngine, cluster: str, sink: DatabaseSink) -> None:
    """Of the GPUs that its nodes offer; jobs that are deleted or done do not run."""
    node = {
        "metadata": {"uid": uid(), "name": "n", "resourceVersion": "1"},
        "status": {"allocatable": {"nvidia.com/gpu": 16}},
    }
    await sink.write(
        [job_row(job("runs")), job_row(job("gone"), deleted=True), job_row(job("done", state="Succeeded"))]
    )
    async with engine.connect() as connection:
        assert [(one.job.name, one.share) for one in await running(connection, cluster)] == [("runs", None)]
    await sink.write([rows.node_row(NODES.decoder.decode(codec.encode(node)), deleted=False, now=NOW)])
    async with engine.connect() as connection:
        assert [(one.job.name, one.share) for one in await running(connection, cluster)] == [("runs", 0.5)]
        assert await running(connection, cluster, ["team-b"]) == ()


async def test_a_model_leads_to_its_job_and_data(engine: AsyncEngine, cluster: str, sink: DatabaseSink) -> None:
    """After all of them were deleted from the cluster."""
    obj = job()
    obj["spec"]["cacheBackend"] = {"name": "mnist", "dataset": {"dataSources": [{"location": "s3://data/mnist"}]}}
    version = {
        "metadata": {
            "uid": uid(),
            "name": "bert-v1",
            "namespace": "team-a",
            "resourceVersion": "9",
            "creationTimestamp": moment(NOW),
        },
        "spec": {"modelName": "bert", "origin": {"jobUid": obj["metadata"]["uid"], "codeRevision": "abc"}},
        "status": {"imageBuildPhase": "ImageBuildSucceeded", "image": "registry.example/bert@sha256:00"},
    }
    decoded = resource_of_objects(MODEL_VERSIONS).decoder.decode(codec.encode(version))
    await sink.write([job_row(obj, deleted=True), rows.object_row("ModelVersion", decoded, deleted=True, now=NOW)])
    async with engine.connect() as connection:
        found = await lineage(connection, cluster, "team-a", "bert-v1")
        assert await lineage(connection, cluster, "team-b", "bert-v1") is None
    assert found is not None
    assert found.job is not None
    assert (found.job.uid, found.version.state) == (obj["metadata"]["uid"], "ImageBuildSucceeded")
    assert found.data == {"name": "mnist", "dataset": {"dataSources": [{"location": "s3://data/mnist"}]}}
    assert (found.code, found.images) == ({"repository": "", "revision": "abc"}, ("registry.example/train:1",))


@pytest.mark.parametrize("text", ["x", "eA==", "a" * 200, Cursor(NOW, "u").encode()[:-6], "é"])
async def test_a_cursor_of_somebody_else_is_refused(engine: AsyncEngine, cluster: str, text: str) -> None:
    """With an error that an HTTP API can answer with 400."""
    async with engine.connect() as connection:
        with pytest.raises(InvalidCursorError):
            await list_jobs(connection, cluster, JobFilter(), text)
