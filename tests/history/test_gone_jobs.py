"""The client finds jobs that were deleted in the history, on every database."""

import asyncio

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from kubedl.client import AsyncTrainingClient, NotFound, TrainingClient
from kubedl.history.sink import Epoch
from kubedl.history.sinks.database import DatabaseSink
from tests.history.builders import job, job_row
from tests.unit.client.api_server import ApiServer, serving


async def test_a_deleted_job_is_found_and_marked(
    engine: AsyncEngine, database_url: str, cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = DatabaseSink(engine, cluster)
    await sink.claim(Epoch("lease", 0, "me"))
    await sink.write([job_row(job("clip", namespace="team-a", state="Failed"), deleted=True)])
    monkeypatch.setenv("KUBEDL_HISTORY_DATABASE", database_url)
    monkeypatch.setenv("KUBEDL_HISTORY_CLUSTER", cluster)
    with serving(ApiServer()) as api:
        api.job("bert", namespace="team-a", status={"state": "Running"})
        async with AsyncTrainingClient(namespace="team-a", server=api.url) as client:
            found = await client.get_job("clip")
            assert (found.gone, found.state, found.kind) == (True, "Failed", "PyTorchJob")
            assert found.is_failed
            assert (await client.get_job("pytorch/clip")).gone
            assert not (await client.get_job("bert")).gone
            with pytest.raises(NotFound):
                await client.get_job("nothing")
        with TrainingClient(namespace="team-a", server=api.url) as other:
            assert (await asyncio.to_thread(other.get_job, "clip")).gone
            assert other.get_job("clip").gone  # also in the thread of an event loop
        with TrainingClient(namespace="team-a", server=api.url, use_history=False) as other, pytest.raises(NotFound):
            other.get_job("clip")
