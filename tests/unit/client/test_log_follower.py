"""Logs that are followed while pods come, go and lose their connection."""

import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from kubedl.client import LogLine, NotFound, TrainingClient
from kubedl.client import log_follower as module
from kubedl.client.local_client import environments
from kubedl.client.log_sources import rank_in
from kubedl.training.kinds import all_kinds
from tests.unit.client.api_server import ApiServer, ended, running, until

DONE = {"state": "Succeeded", "conditions": [{"type": "Succeeded", "status": "True"}]}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.01)
    monkeypatch.setattr(module, "PATIENCE", 30.0)  # what the stand-in knows about a pod comes at once, if at any time
    monkeypatch.setattr(module, "QUIET", 0.1)


class Following:
    """A follower in a thread, with what it has said so far."""

    def __init__(self, client: TrainingClient, name: str = "bert", *wanted: str) -> None:
        self.lines: list[LogLine] = []
        self.notes: list[str] = []
        self.follower = client.follow_job_logs(name, wanted=wanted, on_note=self.notes.append)
        self._thread = threading.Thread(target=lambda: self.lines.extend(self._each()))
        self._thread.start()

    def _each(self) -> Iterator[LogLine]:
        yield from self.follower

    def ended(self) -> list[str]:
        """The lines, each with its replica, when the follower has ended."""
        self._thread.join(60)
        assert not self._thread.is_alive()
        return [f"{line.replica} {line}" for line in self.lines]


def test_it_waits_for_pods_and_ends_with_the_job(api: ApiServer, client: TrainingClient) -> None:
    path = api.job("bert", status={"state": "Queuing", "message": "3rd in line"})
    following = Following(client)
    until("note", lambda: following.notes == ["waiting for pods: 3rd in line"])
    release = threading.Event()
    api.logs["bert-master-0"] = [_held(release, "2026-01-01T00:00:01Z one\n", "2026-01-01T00:00:02Z two\n")]
    pod = api.pod("bert", "master", 0, **running())
    until("line", lambda: len(following.lines) == 1 or api.calls[-1].path.endswith("/log"))
    release.set()
    api.logs["bert-master-0"].append("2026-01-01T00:00:01Z one\n2026-01-01T00:00:02Z two\n")
    api.put(pod, {**api.objects[pod], "status": ended(0)})
    api.put(path, {**api.objects[path], "status": DONE})
    assert following.ended() == ["master-0 one", "master-0 two"]
    assert following.follower.job.is_succeeded


def test_each_line_comes_once_after_a_break(api: ApiServer, client: TrainingClient) -> None:
    """The connection is cut in the middle of a line; what came before is sent again by the server."""
    path = api.job("bert", status={"state": "Running"})
    text = "".join(f"2026-01-01T00:00:0{second}.5Z line {second}\n" for second in range(1, 6))
    api.logs["bert-master-0"] = [_cut(text[:60]), _cut(text[:90]), text]
    pod = api.pod("bert", "master", 0, **running())
    following = Following(client)
    until("lines", lambda: len([call for call in api.calls if call.path.endswith("/log")]) >= 3)
    api.put(pod, {**api.objects[pod], "status": ended(0)})
    api.put(path, {**api.objects[path], "status": DONE})
    assert following.ended() == [f"master-0 line {second}" for second in range(1, 6)]
    assert any(note.startswith("connection lost, back after") for note in following.notes)


def test_a_container_that_was_replaced_is_read_to_its_end_first(api: ApiServer, client: TrainingClient) -> None:
    path = api.job("bert", status={"state": "Running"})
    first = "2026-01-01T00:00:01Z one\n"
    api.logs["bert-master-0"] = [first, f"{first}2026-01-01T00:00:02Z last words\n", "2026-01-01T00:00:09Z anew\n"]
    pod = api.pod("bert", "master", 0, **running())
    following = Following(client)
    until("end of the first log", lambda: any(call.path.endswith("/log") for call in api.calls))
    api.put(pod, {**api.objects[pod], "status": running(restarts=1)})
    until("both logs", lambda: len([call for call in api.calls if call.path.endswith("/log")]) >= 3)
    assert [call.query.get("previous") for call in api.calls if call.path.endswith("/log")][:3] == [None, "true", None]
    status = ended(0)
    status["containerStatuses"][0]["restartCount"] = 1
    api.put(pod, {**api.objects[pod], "status": status})
    api.put(path, {**api.objects[path], "status": DONE})
    assert following.ended() == ["master-0 one", "master-0 last words", "master-0 anew"]


def test_a_job_that_has_ended_is_read_and_done(api: ApiServer, client: TrainingClient) -> None:
    api.job("bert", status=DONE)
    for index in (0, 1):
        api.logs[f"bert-worker-{index}"] = [f"2026-01-01T00:00:01Z of {index}\n"]
        api.pod("bert", "worker", index, **ended(0))
    assert sorted(Following(client).ended()) == ["worker-0 of 0", "worker-1 of 1"]
    assert Following(client, "bert", "worker-1").ended() == ["worker-1 of 1"]
    assert Following(client, "bert-worker-0").ended() == ["worker-0 of 0"]


def test_a_pod_that_outlives_its_job_is_heard_out(
    api: ApiServer, client: TrainingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed job's running pods are deleted, which may take half a minute."""
    path = api.job("bert", status={"state": "Running"})
    release, lines = threading.Event(), [f"2026-01-01T00:00:01.{number:03}Z {number}\n" for number in range(500)]
    api.logs["bert-master-0"] = [_held(release, "".join(lines))]
    api.pod("bert", "master", 0, **running())
    following = Following(client)
    # Time passes when all lines are there: a busy machine may need longer for them than the pod is given to speak.
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() if len(following.lines) == len(lines) else 0.0)
    monkeypatch.setattr(module, "time", clock)
    until("reader", lambda: any(call.path.endswith("/log") for call in api.calls))
    api.put(path, {**api.objects[path], "status": {**DONE, "state": "Failed"}})
    assert following.ended() == [f"master-0 {number}" for number in range(500)]
    release.set()


def test_a_job_that_is_deleted_ends_its_logs(api: ApiServer, client: TrainingClient) -> None:
    path = api.job("bert", status={"state": "Running", "message": "starting"})
    following = Following(client)
    until("watch", lambda: "waiting for pods: starting" in following.notes)
    api.delete(path)
    assert following.ended() == []
    assert "bert was deleted" in following.notes


def test_logs_that_are_not_followed_come_replica_by_replica(api: ApiServer, client: TrainingClient) -> None:
    api.job("bert", status=DONE)
    with pytest.raises(NotFound, match="bert has no pods any more"):
        list(client.get_job_logs("bert"))
    for index in (10, 2):
        api.logs[f"bert-worker-{index}"] = [f"2026-01-01T00:00:01Z of {index}\n"]
        api.pod("bert", "worker", index, **ended(0))
    assert list(client.get_job_logs("bert")) == ["of 2", "of 10"]
    with pytest.raises(NotFound, match="bert has no pods called chief"):
        list(client.get_job_logs("bert", wanted=["chief"]))


def test_a_replica_that_has_not_started_is_named_and_the_others_are_read(
    api: ApiServer, client: TrainingClient
) -> None:
    api.job("bert")
    for index in (0, 1):
        api.logs[f"bert-worker-{index}"] = [f"2026-01-01T00:00:01Z of {index}\n"]
        api.pod("bert", "worker", index, **running())
    waiting = {"kind": "Status", "code": 400, "reason": "BadRequest", "message": "worker 0 is waiting to start"}
    api.refusals["GET /api/v1/namespaces/team/pods/bert-worker-0/log"] = (400, waiting)
    notes: list[str] = []
    assert list(client.get_job_logs("bert", on_note=notes.append)) == ["of 1"]
    assert notes == ["worker 0 is waiting to start"]


@pytest.mark.parametrize("follow", [False, True])
def test_a_line_has_the_rank_and_the_attempt_of_its_pod(api: ApiServer, client: TrainingClient, follow: bool) -> None:
    """As the operator has written them into the pod; what is no number counts as not said."""
    api.job("bert", status=DONE)
    said: dict[str, tuple[object, str]] = {"master": ("0", "2"), "worker": ("1", "x"), "ps": (None, "9" * 50)}
    for role, (rank, attempt) in said.items():
        path = api.pod("bert", role, 0, **ended(0))
        labels = {**api.objects[path]["metadata"]["labels"], "training.kubedl.io/attempt": attempt}
        own = {"name": "RANK", "value": rank} if rank is not None else {"name": "RANK", "valueFrom": {}}
        spec = {"containers": [{"name": "pytorch", "env": [{"name": "RANK", "value": "7"}, own]}]}
        api.put(
            path, {**api.objects[path], "metadata": {**api.objects[path]["metadata"], "labels": labels}, "spec": spec}
        )
        api.logs[f"bert-{role}-0"] = ["2026-01-01T00:00:01Z one\n"]
    found = {line.replica: (line.rank, line.attempt) for line in client.get_job_logs("bert", follow=follow)}
    assert found == {"master-0": (0, 2), "worker-0": (1, 0), "ps-0": (None, 0)}


@pytest.mark.parametrize(
    ("kind", "roles", "ranks"),
    [
        ("PyTorchJob", {"Master": 1, "Worker": 2}, {"master-0": 0, "worker-0": 1, "worker-1": 2}),
        ("TFJob", {"PS": 1, "Worker": 1}, {"ps-0": None, "worker-0": None}),
    ],
)
def test_ranks_are_those_of_the_kind(kind: str, roles: dict[str, int], ranks: dict[str, int | None]) -> None:
    """The variables that the operator gives pods."""
    (field,) = (known.replicas_field for known in all_kinds() if known.kind == kind)
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    specs = {name: {"replicas": count, "template": template} for name, count in roles.items()}
    manifest = {
        "apiVersion": "training.kubedl.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": "bert", "namespace": "team", "uid": "u"},
        "spec": {field: specs},
    }
    assert {name: rank_in(variables) for name, variables in environments(manifest)} == ranks


def _held(release: threading.Event, before: str, after: str = "") -> Callable[[Callable[[bytes], None]], None]:
    """A log of a container that runs until it is released."""

    def write(send: Callable[[bytes], None]) -> None:
        send(before.encode())
        assert release.wait(60)
        send(after.encode() if after else b"\n")

    return write


def _cut(text: str) -> Callable[[Callable[[bytes], None]], None]:
    """A log whose connection breaks."""

    def write(send: Callable[[bytes], None]) -> None:
        send(text.encode())
        raise ConnectionAbortedError

    return write
