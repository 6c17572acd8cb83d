"""Both Python clients on a real API server: its TLS, its tables, its watches and its refusals."""

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest

from kubedl.client import AlreadyExists, AsyncTrainingClient, Conflict, Invalid, NotFound, TrainingClient
from kubedl.kube.sync_credentials import Overrides
from testbed.cluster import Cluster
from testbed.waiting import until
from tests.cluster.slot_jobs import SlotJobs
from tests.cluster.test_cli import jobs, kubedl  # noqa: F401 - fixtures
from tests.unit.client.both_clients import InLoop


@pytest.fixture(params=["threads", "event loop"])
def client(request: pytest.FixtureRequest, control_plane: Cluster, namespace: str) -> Iterator[TrainingClient]:
    kind = TrainingClient if request.param == "threads" else cast("type[TrainingClient]", InLoop)
    with kind(namespace=namespace, overrides=Overrides(kubeconfig=str(control_plane.kubeconfig))) as made:
        yield made


def test_the_life_of_a_job(jobs: SlotJobs, client: TrainingClient) -> None:  # noqa: F811
    """Create, list, wait, pods, events, update, suspend, delete; and what the server refuses."""
    place: dict[str, Any] = {"name": "bert", "base_image": "none", "num_workers": 2, "env_vars": {"A": "b"}}
    with pytest.raises(Invalid):
        client.create_job(**{**place, "name": "Not A Name"})
    client.create_job(**place)
    with pytest.raises(AlreadyExists, match="bert is taken"):
        client.create_job(**place)
    assert [job.name for job in client.list_jobs()] == ["bert"]
    assert client.wait_for_job_status("bert", ("Created",), timeout=60).name == "bert"
    read = client.get_job("bert")
    changed = client.update_job({**read.manifest, "spec": {**read.spec, "suspend": True}})
    assert changed.spec["suspend"] is True
    with pytest.raises(Conflict):
        client.update_job(read)
    assert client.wait_for_job_status("bert", ("Suspended",), timeout=60).has_condition("Suspended")
    until("an event", lambda: client.get_job_events("bert"), deadline=60)  # they are written after the status
    client.delete_job("bert")
    with pytest.raises(NotFound):
        client.get_job("bert")


async def test_waits_in_an_event_loop(jobs: SlotJobs, control_plane: Cluster, namespace: str) -> None:  # noqa: F811
    """Eight watches at a time on one thread; each ends with the deletion of its job."""
    overrides = Overrides(kubeconfig=str(control_plane.kubeconfig))
    async with AsyncTrainingClient(namespace=namespace, overrides=overrides) as client:
        names = [f"j{number}" for number in range(8)]
        await asyncio.gather(*(client.create_job(name=name, base_image="none") for name in names))
        waits = [asyncio.ensure_future(client.wait_for_job_status(name, ("deleted",), timeout=90)) for name in names]
        await asyncio.gather(*(client.wait_for_job_status(name, ("Created",), timeout=60) for name in names))
        await asyncio.gather(*(client.delete_job(name) for name in names))
        assert {job.name for job in await asyncio.gather(*waits)} == set(names)
