"""Namespaces of tests: each bears the mark of a process, and goes when that process is gone."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from testbed import namespaces
from testbed.api import Api
from testbed.errors import DeadlineError
from testbed.waiting import until


@dataclass
class StandIn:
    """An API server that knows namespaces; their ServiceAccount comes after some questions."""

    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    questions_before_account: int = 0
    asked: list[str] = field(default_factory=list)

    def create(self, path: str, body: dict[str, Any]) -> None:
        assert path == "/api/v1/namespaces"
        self.labels[body["metadata"]["name"]] = body["metadata"]["labels"]

    def exists(self, path: str) -> bool:
        self.asked.append(path)
        return len(self.asked) > self.questions_before_account

    def delete(self, path: str) -> None:
        name = path.removeprefix("/api/v1/namespaces/")
        del self.labels[name]
        self.deleted.append(name)

    def list(self, path: str) -> list[dict[str, Any]]:
        assert path == f"/api/v1/namespaces?labelSelector={namespaces.LABEL}"
        marked = [name for name, labels in self.labels.items() if namespaces.LABEL in labels]
        return [{"metadata": {"name": name, "labels": self.labels[name]}} for name in marked]

    def mark(self, name: str) -> str:
        return self.labels[name][namespaces.LABEL]


@pytest.fixture
def stand_in() -> StandIn:
    return StandIn()


@pytest.fixture
def api(stand_in: StandIn) -> Api:
    return cast("Api", stand_in)


@pytest.fixture
def neighbour() -> Iterator[subprocess.Popen[bytes]]:
    """Another test process."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def started(pid: int) -> str:
    """The kernel's start time of a process, field 22 of its status."""
    return Path(f"/proc/{pid}/stat").read_text().split()[21]


def test_namespace_lives_as_long_as_its_block(stand_in: StandIn, api: Api) -> None:
    with namespaces.fresh(api) as name:
        assert list(stand_in.labels) == [name]
    assert stand_in.deleted == [name]


def test_namespace_goes_with_a_test_that_fails(stand_in: StandIn, api: Api) -> None:
    with pytest.raises(ZeroDivisionError), namespaces.fresh(api):
        raise ZeroDivisionError
    assert (stand_in.labels, len(stand_in.deleted)) == ({}, 1)


def test_no_two_namespaces_have_the_same_name(api: Api) -> None:
    """Deletion isn't waited for, so a name must not come again while the old one still ends."""
    names = []
    for _ in range(3):
        with namespaces.fresh(api, prefix="gang") as name:
            names.append(name)
    assert len(set(names)) == 3
    assert [name for name in names if not name.startswith(f"gang-{os.getpid()}-")] == []


def test_namespace_bears_its_process_and_the_labels_asked_for(stand_in: StandIn, api: Api) -> None:
    with namespaces.fresh(api, labels={"team": "red"}) as name:
        mark = f"{os.getpid()}.{started(os.getpid())}"
        assert stand_in.labels[name] == {namespaces.LABEL: mark, "team": "red"}


def test_namespace_is_handed_out_when_pods_are_admitted(
    stand_in: StandIn, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pod created before the ServiceAccount is refused, once in a hundred runs."""
    monkeypatch.setattr(namespaces, "until", partial(until, pause=lambda _: None))
    stand_in.questions_before_account = 2
    with namespaces.fresh(api) as name:
        account, authority = (f"/api/v1/namespaces/{name}/{one}" for one in namespaces.GIVEN)
        assert stand_in.asked == [account] * 3 + [authority]


def test_namespace_that_never_becomes_usable_is_deleted_too(
    stand_in: StandIn, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it stays until another process finds this one gone."""
    monkeypatch.setattr(namespaces, "until", lambda *_, **__: (_ for _ in ()).throw(DeadlineError("not usable")))
    with pytest.raises(DeadlineError), namespaces.fresh(api):
        pass
    assert stand_in.labels == {}


def test_namespaces_of_living_processes_are_kept(
    stand_in: StandIn, api: Api, neighbour: subprocess.Popen[bytes]
) -> None:
    """Test processes run side by side: none may clean up after another that still works."""
    stand_in.labels["neighbour"] = {namespaces.LABEL: f"{neighbour.pid}.{started(neighbour.pid)}"}
    with namespaces.fresh(api) as name:
        assert namespaces.remove_abandoned(api) == []
        assert set(stand_in.labels) == {"neighbour", name}


def test_namespace_of_a_process_that_has_ended_is_removed(
    stand_in: StandIn, api: Api, neighbour: subprocess.Popen[bytes]
) -> None:
    stand_in.labels["neighbour"] = {namespaces.LABEL: f"{neighbour.pid}.{started(neighbour.pid)}"}
    neighbour.kill()
    neighbour.wait()
    assert namespaces.remove_abandoned(api) == ["neighbour"]
    assert stand_in.deleted == ["neighbour"]


def test_namespace_of_an_earlier_process_with_the_same_pid_is_removed(
    stand_in: StandIn, api: Api, neighbour: subprocess.Popen[bytes]
) -> None:
    """Pids come again; the start time tells the two apart."""
    stand_in.labels["earlier"] = {namespaces.LABEL: f"{neighbour.pid}.{int(started(neighbour.pid)) - 1}"}
    assert namespaces.remove_abandoned(api) == ["earlier"]


def test_namespaces_of_others_are_not_ours_to_remove(stand_in: StandIn, api: Api) -> None:
    stand_in.labels["default"] = {}
    assert namespaces.remove_abandoned(api) == []


def test_mark_does_not_depend_on_what_a_process_calls_itself(stand_in: StandIn, api: Api) -> None:
    """A name with spaces and brackets shifts the fields of the kernel's line for whoever splits it naively."""
    with namespaces.fresh(api) as plain:
        before = stand_in.mark(plain)
    own_name = Path("/proc/self/comm")
    called = own_name.read_text()
    own_name.write_text("a) R 1 2 (b")
    try:
        with namespaces.fresh(api) as odd:
            assert stand_in.mark(odd) == before
    finally:
        own_name.write_text(called)
