"""What is read of the server: all nodes, and the log of the container that computes."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from kubedl.client.parallel import run_all
from kubedl.why import collecting
from kubedl.why.evidence import Evidence
from tests.unit.why.building import NOW, ago, job, pod


class Reader:
    """A server with three nodes, of which it sends one at a time, and a log."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, str]] = []

    def call(self, method: str, path: str, *, params: Mapping[str, str]) -> bytes:
        assert method == "GET"
        self.asked.append(params)
        if path.endswith("/log"):
            return b"2026-01-01T00:00:01Z step 1\n"
        number = int(params.get("continue", "1"))
        more = {"continue": str(number + 1)} if number < 3 else {}
        return json.dumps({"items": [{"metadata": {"name": f"node-{number}"}}], "metadata": more}).encode()


def evidence(reader: Reader, **parts: Any) -> Evidence:  # noqa: ANN401 - JSON
    return Evidence(NOW, job("Running"), collecting.Collector(reader, run_all), parts)


def test_nodes_are_read_to_the_last() -> None:
    """That no node is large enough cannot be said of the first five hundred."""
    assert [one["name"] for one in evidence(Reader()).listed("nodes")] == ["node-1", "node-2", "node-3"]


def test_of_too_many_nodes_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "MOST_NODES", 2)
    found = evidence(Reader())
    assert (found.listed("nodes"), found.denied["nodes"]) == ([], "there are more than 2")


def test_a_sidecar_that_crashes_does_not_hide_the_log() -> None:
    """The container that computes has no log of a run before."""
    states = {"pytorch": {"running": {"startedAt": ago(hours=1)}}, "side": {"waiting": {"reason": "CrashLoopBackOff"}}}
    statuses = [{"name": name, "state": state} for name, state in states.items()]
    reader = Reader()
    found = evidence(reader, pods=[pod(phase="Running", containerStatuses=statuses)]).get("logs")
    assert found["bert-worker-0"] == ["step 1"]
    assert "previous" not in reader.asked[-1]
