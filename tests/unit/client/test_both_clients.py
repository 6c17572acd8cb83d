"""The client of threads and the client of event loops are one: the same names, arguments and words about them."""

import asyncio
import inspect
import threading

import pytest

from kubedl.client import AsyncTrainingClient, Forbidden, TrainingClient
from kubedl.client.blocking import run
from tests.unit.client.api_server import ApiServer, ended, running, until

MANY = 30
OWN = {"over", "create_manifest", "objects_in"}  # which one of them has for the other
DONE = {"state": "Succeeded", "conditions": [{"type": "Succeeded", "status": "True"}]}


def _public(kind: type) -> dict[str, object]:
    return {
        name: value
        for name, value in inspect.getmembers(kind)
        if not name.startswith("_") and name not in OWN and callable(value)
    }


def test_both_have_the_same_operations() -> None:
    without, within = _public(TrainingClient), _public(AsyncTrainingClient)
    assert without.keys() == within.keys()
    for name, operation in within.items():
        assert inspect.signature(without[name]) == inspect.signature(operation), name  # type: ignore[arg-type]
        assert inspect.getdoc(without[name]) == inspect.getdoc(operation), name


async def test_many_waits_and_a_log_need_no_threads(api: ApiServer) -> None:
    """Each waits by a watch of its own, on one thread."""
    async with AsyncTrainingClient(namespace="team", server=api.url) as client:
        for number in range(MANY):
            api.job(f"j{number}", status={"state": "Running"})
        api.job("bert", status={"state": "Running"})
        api.logs["bert-master-0"] = ["2026-01-01T00:00:01Z one\n"]
        api.pod("bert", "master", 0, **running())
        await client.kinds()
        before = _own_threads()
        waits = [asyncio.ensure_future(client.wait_for_job_status(f"pytorch/j{number}")) for number in range(MANY)]
        lines = aiter(client.get_job_logs("bert", follow=True))
        assert await anext(lines) == "one"
        await asyncio.to_thread(
            until, "watches", lambda: len([call for call in api.calls if call.query.get("watch")]) > MANY
        )
        assert _own_threads() - before <= {"asyncio_0"}  # that of the line above
        for number in range(MANY):
            path = f"/apis/training.kubedl.io/v1alpha1/namespaces/team/pytorchjobs/j{number}"
            api.put(path, {**api.objects[path], "status": DONE})
        assert all(job.is_succeeded for job in await asyncio.gather(*waits))
        await lines.aclose()


async def test_a_wait_that_is_cancelled_leaves_nothing(api: ApiServer) -> None:
    api.job("bert", status={"state": "Running"})
    async with AsyncTrainingClient(namespace="team", server=api.url) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await client.wait_for_job_status("bert")
        assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_operations_whose_turn_has_not_come_are_ended_too(api: ApiServer) -> None:
    """A coroutine that nobody awaits is a warning, and here an error."""
    async with AsyncTrainingClient(namespace="team", server=api.url) as client:
        calls = client._cluster.client  # noqa: SLF001 - what operations have
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await calls.together([calls.sleep(60) for _ in range(10)])
        assert await calls.together([calls.in_thread(lambda: 1), calls.in_thread(lambda: 2)]) == [1, 2]


def test_a_refusal_ends_followed_logs_with_the_error_of_the_client(api: ApiServer, client: TrainingClient) -> None:
    path = api.job("bert", status={"state": "Running"})
    refusal = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": 'User "alice" cannot list pods'}
    api.refusals["GET /api/v1/namespaces/team/pods"] = (403, refusal)
    with pytest.raises(Forbidden, match="cannot follow pytorchjob/bert"):
        list(client.get_job_logs("bert", follow=True))
    assert path in api.objects


def test_an_operation_that_needs_a_loop_is_a_mistake() -> None:
    """Operations may await nothing but their calls."""

    async def wrong() -> None:
        await asyncio.sleep(0)

    with pytest.raises(AssertionError, match="waited for an event loop"):
        run(wrong())


async def test_jobs_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    async with AsyncTrainingClient(backend="local") as client:
        job = await client.train(_work, name="digits")
        lines = [line async for line in client.get_job_logs(job.name, follow=True)]
        assert [(str(line), line.rank, line.attempt) for line in lines] == [("works", 0, 0)]
        assert (await client.wait_for_job_status(job.name, timeout=30)).result == 7


def _work() -> int:
    print("works", flush=True)
    return 7


def test_the_result_comes_with_the_end(api: ApiServer, client: TrainingClient) -> None:
    client.train(_work, name="digits", image="i")
    status = ended(0)
    status["containerStatuses"][0]["state"]["terminated"]["message"] = "7"
    api.pod("digits", "master", 0, **status)
    path = "/apis/training.kubedl.io/v1alpha1/namespaces/team/pytorchjobs/digits"
    api.put(path, {**api.objects[path], "status": DONE})
    assert client.wait_for_job_status("digits").result == 7


def _own_threads() -> set[str]:
    """Return the threads but for those of the server and of other tests' clients."""
    return {thread.name for thread in threading.enumerate() if "process_request_thread" not in thread.name}
