"""The smoke test's job is deleted, whatever becomes of the smoke test."""

import asyncio
import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest

from kubedl.entrypoints import smoke_test
from kubedl.kube import credentials
from kubedl.kube.types.meta import ObjectKey


class FakeClient:
    """Has one job, which never ends."""

    namespace = "team"

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self.deleted: list[str] = []

    async def create(self, _: object, namespace: str, body: dict[str, Any]) -> Any:  # noqa: ANN401
        self.made.append(body)
        name = body["metadata"]["name"]
        return SimpleNamespace(metadata=SimpleNamespace(name=name, uid="1", key=ObjectKey(namespace, name)))

    async def get(self, *_: object) -> Any:  # noqa: ANN401
        os.kill(os.getpid(), signal.SIGTERM)
        return SimpleNamespace(status=SimpleNamespace(completion_time=None))

    async def delete(self, _: object, key: ObjectKey, uid: str) -> None:
        self.deleted.append(f"{key} {uid}")

    async def close(self) -> None:
        await asyncio.sleep(0)


def test_told_to_stop_it_takes_its_job_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As happens to a pod whose node is drained."""
    client = FakeClient()
    monkeypatch.setattr(smoke_test, "Client", lambda _: client)
    monkeypatch.setattr(credentials, "load", lambda _: None)
    assert smoke_test.main(["--image", "kubedl"]) == 2
    [made] = client.made
    assert client.deleted == [f"{ObjectKey('team', made['metadata']['name'])} 1"]
    assert capsys.readouterr().err == "kubedl smoke-test: stopped by a signal\n"


def test_a_job_that_nobody_takes_away_ends_and_goes_by_itself() -> None:
    spec = smoke_test.job("a", "kubedl", (), 30)["spec"]
    assert (spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"]) == (30, smoke_test.LEFT_FOR)
