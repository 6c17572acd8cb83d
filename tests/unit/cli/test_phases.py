"""`kubedl submit --wait`: the phases of a job, on a terminal and in a log."""

import io
import json
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from kubedl.cli import live_phases
from kubedl.cli.phases import Observed, Phase
from kubedl.cli.progress import parse
from kubedl.client import Job
from tests.unit.cli.conftest import Run, ago
from tests.unit.client.api_server import GROUP, ApiServer, ended, running, until

BASE = ("submit", "pytorch", "--name", "bert", "--image", "i", "--queue", "team-a", "--wait")
PATH = f"{GROUP}/namespaces/team/pytorchjobs/bert"


@pytest.fixture(autouse=True)
def seen(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """The phases and states that the command has seen. Nothing lasts too long, though jobs of the stand-in are old."""
    found: set[tuple[str, str]] = set()

    look = Observed.phases

    def looked(*arguments: Any) -> list[Phase]:  # noqa: ANN401 - those of phases
        made = look(*arguments)
        found.update((one.name, one.state) for one in made)
        return made

    monkeypatch.setattr(Observed, "phases", looked)
    monkeypatch.setattr(live_phases, "LONG", float("inf"))
    return found


def lives(api: ApiServer, *steps: Callable[[], None]) -> threading.Thread:
    """Let a job live, step by step, as soon as it is watched."""

    def live() -> None:
        until("watches", lambda: sum(bool(call.query.get("watch")) for call in api.calls) == 2)
        for step in steps:
            step()

    thread = threading.Thread(target=live)
    thread.start()
    return thread


def status(api: ApiServer, state: str, *conditions: str, **fields: Any) -> None:  # noqa: ANN401 - fields of a status
    told = [{"type": one, "status": "True"} for one in conditions]
    api.put(PATH, {**api.objects[PATH], "status": {"state": state, "conditions": told, **fields}})


def pod(api: ApiServer) -> None:
    path = api.pod("bert", "master", 0, **running())
    value = api.objects[path]
    value["metadata"]["creationTimestamp"] = ago(seconds=0)
    value["status"]["containerStatuses"][0]["state"]["running"]["startedAt"] = ago(seconds=0)
    api.put(path, value)


def life(api: ApiServer, seen: set[tuple[str, str]], last: Callable[[], None]) -> threading.Thread:
    """A job that waits in a queue, runs, and ends as it is told when all that has been seen."""
    return lives(
        api,
        lambda: status(api, "Queuing", ready="0/1", message="3rd in line"),
        lambda: status(api, "Running", ready="1/1"),
        lambda: pod(api),
        lambda: until("containers seen", lambda: ("Images", "done") in seen),
        last,
    )


def done(api: ApiServer) -> None:
    status(api, "Succeeded", "Succeeded", ready="1/1")


def test_off_a_terminal_each_change_is_a_line(run: Run, api: ApiServer, seen: set[tuple[str, str]]) -> None:
    thread = life(api, seen, lambda: done(api))
    answer = run(*BASE)
    thread.join()
    assert (answer.code, answer.out) == (0, "pytorchjob/bert created in team\n")
    *lines, last = answer.err.splitlines()
    assert last == "pytorchjob/bert succeeded"
    assert all(re.match(r"\d\d:\d\d:\d\d bert (Queued|Placed|Images|Running)", line) for line in lines), lines
    told = [line[14:] for line in lines]
    assert "Queued team-a: 3rd in line" in told
    assert "Placed 1 of 1 on node-0 after 0s" in told
    assert any(line.startswith("Images 1 of 1 started") for line in told)


def test_a_failure_has_the_exit_code_of_the_replica(run: Run, api: ApiServer, seen: set[tuple[str, str]]) -> None:
    def fail() -> None:
        api.pod("bert", "master", 0, **ended(7))
        status(api, "Failed", "Failed", ready="0/1", message="master 0 failed")

    thread = life(api, seen, fail)
    answer = run(*BASE, "-o", "json")
    thread.join()
    assert answer.code == 7
    assert "error: bert failed: master 0 failed\n" in answer.err
    (item,) = json.loads(answer.out)["items"]
    assert item == {
        "name": "pytorch/bert",
        "state": "Failed",
        "message": "master 0 failed",
        "exitCode": 7,
        "code": 7,
    }


def test_the_time_is_over(run: Run, api: ApiServer) -> None:
    answer = run(*BASE, "--timeout", "0")
    assert answer.code == 124
    assert answer.err == "error: bert is not complete after 0 s: no state yet\n  next  kubedl why bert\n"
    assert PATH in api.objects


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_lines_are_rewritten(
    run: Run, api: ApiServer, seen: set[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = _Screen()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    thread = life(api, seen, lambda: done(api))
    assert run(*BASE).code == 0
    thread.join()
    drawn = _drawn(screen.getvalue())
    assert [line.split()[0] for line in drawn] == ["Queued", "Placed", "Images", "Running", "pytorchjob/bert"]
    assert all("✓" in line for line in drawn[:-1]), drawn
    assert max(map(len, drawn)) <= 60


def _drawn(text: str) -> list[str]:
    """What a terminal shows after these lines and movements."""
    lines, row = [""] * 50, 0
    for part in re.split(r"(\x1b\[\d*[AKJ]|\n)", text):
        if part == "\n":
            row += 1
        elif part.endswith("A") and part.startswith("\x1b"):
            row -= int(part[2:-1])
        elif part.endswith("K"):
            lines[row] = ""
        elif part.endswith("J"):
            lines[row:] = [""] * (50 - row)
        elif part:
            lines[row] = part
    return [line for line in lines if line]


def test_pods_that_end_undo_no_phase() -> None:
    """Only another attempt starts anew."""
    now = datetime(2026, 1, 1, 12, tzinfo=UTC)
    meta = {"name": "bert", "creationTimestamp": "2026-01-01T11:50:00Z"}
    roles = {"pytorchReplicaSpecs": {"Worker": {"replicas": 1}}}
    began = {"running": {"startedAt": "2026-01-01T11:52:00Z"}}
    pod = {"metadata": {**meta}, "spec": {"nodeName": "n"}, "status": {"containerStatuses": [{"state": began}]}}

    def states(state: str, pods: list[Any]) -> list[str]:
        job = Job.of({"kind": "PyTorchJob", "metadata": meta, "spec": roles, "status": {"state": state}})
        return [one.state for one in observed.phases(job, pods, now)]

    observed = Observed()
    assert states("Running", [pod]) == ["done", "done", "now"]
    assert states("Running", []) == ["done", "done", "now"]
    assert states("Restarting", []) == ["now", "to come", "to come"]
    assert states("Running", []) == ["now", "to come", "to come"]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["hello", "progress 1200/5000 loss=0.81 lr=1e-4"], "progress 1200/5000  24 %  loss 0.81  lr 1e-4  3m left"),
        (["progress 1/2", "progress 2/2"], "progress 2/2  100 %"),
        (["progress 0/9"], "progress 0/9  0 %"),
        (["progress 3/2", "progress x/2", "progress 1", "progress 1/0", "in progress 1/2"], ""),
    ],
)
def test_progress_is_what_the_last_line_says(lines: list[str], text: str) -> None:
    found = parse(lines)
    assert (found.text(60.0, bar=False) if found is not None else "") == text


def test_progress_of_rank_zero_is_told(run: Run, api: ApiServer, seen: set[tuple[str, str]]) -> None:
    api.logs["bert-master-0"] = ["2026-01-01T00:00:01Z progress 24/100 loss=0.81\n"]

    def read() -> bool:
        return any(call.path.endswith("bert-master-0/log") for call in api.calls)

    def read_then_done() -> None:
        until("a look at the log", read)
        done(api)

    thread = life(api, seen, read_then_done)
    answer = run(*BASE)
    thread.join()
    assert re.search(r"bert Running progress 24/100  24 %  loss 0.81  \S+ left\n", answer.err), answer.err


def test_a_long_phase_is_explained(run: Run, api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_phases, "LONG", 0.0)
    waits = {"type": "PodsReady", "status": "False", "reason": "KueueNotAvailable", "message": "no Kueue"}

    def queued() -> None:
        told = {"state": "Queuing", "conditions": [waits], "ready": "0/1"}
        api.put(PATH, {**api.objects[PATH], "status": told})
        marks.append(len(api.calls))

    marks: list[int] = []

    def asked() -> bool:
        """It has read the job that waits, and then asked about its queue."""
        since = [call.path for call in api.calls[marks[0] :] if call.method == "GET"]
        return PATH in since and any("/workloads" in path for path in since[since.index(PATH) :])

    thread = lives(api, queued, lambda: until("why", asked), lambda: done(api))
    answer = run(*BASE)
    thread.join()
    assert answer.code == 0
    why = [line[9:] for line in answer.err.splitlines() if " bert why " in line]
    assert "bert why The job asks for queue team-a, and Kueue is not installed." in why, answer.err
