"""`kubedl list -w`: a row for each change."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kubedl.client import TrainingClient
from kubedl.client.job_list import JobSelection
from kubedl.kube.errors import UnknownOutcomeError
from tests.unit.cli.conftest import Run
from tests.unit.client.api_server import ApiServer, until
from tests.unit.client.conftest import client  # noqa: F401 - a fixture

JOBS = JobSelection("team")
AT_ONCE = 40.0  # seconds, on a busy machine; a watch that says nothing is taken for broken after 70


@pytest.fixture
def watched(run: Run, api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs `list -w` beside a function that changes jobs; the watch ends after a number of changes."""

    def watched(words: tuple[str, ...], changes: int, change: Callable[[], None]) -> Any:  # noqa: ANN401 - an Answer
        watch = TrainingClient.watch_jobs

        def some(self: TrainingClient, wanted: JobSelection) -> Iterator[Any]:
            batches = watch(self, wanted)
            yield next(batches)
            for _ in range(changes):
                yield next(batches)

        monkeypatch.setattr(TrainingClient, "watch_jobs", some)

        def change_then() -> None:
            until("both watches", lambda: sum(bool(call.query.get("watch")) for call in api.calls) == 2)
            change()

        thread = threading.Thread(target=change_then)
        thread.start()
        began = time.monotonic()
        answer = run("list", "-w", *words)
        thread.join()
        assert time.monotonic() - began < AT_ONCE, "the watch did not tell; a list after it broke did"
        return answer

    return watched


def test_a_row_for_each_change(api: ApiServer, watched: Callable[..., Any]) -> None:
    api.job("old", status={"state": "Running", "ready": "1/2"})

    def change() -> None:
        path = api.job("a-longer-name", "tfjobs")
        api.put(path, {**api.objects[path], "status": {"state": "Queuing", "ready": "0/1"}})
        api.put(path, {**api.objects[path], "spec": {"unseen": True}})
        api.delete(path)

    answer = watched((), 3, change)
    head, *rows = [line.split() for line in answer.out.splitlines()]
    assert head == ["TIME", "NAME", "KIND", "STATE", "READY", "GPUS", "QUEUE", "WHAT"]
    assert [row[1:5] for row in rows] == [
        ["old", "pytorch", "Running", "1/2"],
        ["a-longer-name", "tf", "-", "-"],
        ["a-longer-name", "tf", "Queuing", "0/1"],
        ["a-longer-name", "tf", "Deleted", "-"],
    ]
    assert rows[-1][-2:] == ["was", "Queuing"]
    assert answer.err == ""


def test_for_programs_each_change_is_a_line(api: ApiServer, watched: Callable[..., Any]) -> None:
    path = api.job("bert", status={"state": "Queuing"})
    api.job("other", status={"state": "Failed"})

    def change() -> None:
        api.put(path, {**api.objects[path], "status": {"state": "Running"}})
        api.delete(path)

    answer = watched(("-o", "json", "--state", "queuing,running"), 2, change)
    found = [json.loads(line) for line in answer.out.splitlines()]
    assert [(one["kind"], one["type"], one["job"]["name"], one["job"]["state"]) for one in found] == [
        ("JobChange", "ADDED", "bert", "Queuing"),
        ("JobChange", "MODIFIED", "bert", "Running"),
        ("JobChange", "DELETED", "bert", "Running"),
    ]


def test_after_a_break_only_what_changed_is_told(
    api: ApiServer,
    client: TrainingClient,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The connection breaks, the server is away for a moment; one job changes, one is deleted, one stays as it is."""
    for name in ("same", "changed", "deleted"):
        api.job(name, status={"state": "Queuing"})
    operations: Any = getattr(client, "_operations", client)
    calls = operations._cluster.client  # noqa: SLF001
    stream, broken = calls.stream, threading.Event()

    def stream_once(path: str, *arguments: Any) -> Any:  # noqa: ANN401 - a context manager
        if path.endswith("pytorchjobs") and not broken.is_set():
            broken.set()
            place = f"{path}/changed"
            api.put(place, {**api.objects[place], "status": {"state": "Running"}})
            api.delete(f"{path}/deleted")
            raise UnknownOutcomeError(0, "", "cut")
        return stream(path, *arguments)

    call, away = calls.call, threading.Event()

    async def call_later(method: str, path: str, **named: Any) -> Any:  # noqa: ANN401 - an answer
        if path.endswith("pytorchjobs") and broken.is_set() and not away.is_set():
            away.set()
            raise UnknownOutcomeError(0, "", "refused")
        return await call(method, path, **named)

    monkeypatch.setattr(calls, "stream", stream_once)
    monkeypatch.setattr(calls, "call", call_later)
    batches = client.watch_jobs(JOBS)
    assert {one.job.name for one in next(batches)} == {"same", "changed", "deleted"}
    assert [(one.type, one.job.name) for one in next(batches)] == [("DELETED", "deleted"), ("MODIFIED", "changed")]


def test_a_refusal_ends_the_watch(api: ApiServer, run: Run) -> None:
    path = "/apis/training.kubedl.io/v1alpha1/namespaces/team/tfjobs"
    api.refusals[f"GET {path}"] = (403, {"reason": "Forbidden", "message": 'User "eve" cannot list tfjobs'})
    answer = run("list", "-w")
    assert answer.code == 1
    assert answer.err.startswith("error: cannot list tfjobs\n")
