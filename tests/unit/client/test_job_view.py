"""The view of a job in a notebook, with a stand-in for IPython's display."""

import threading
import time
from typing import Any

import pytest

from kubedl.client import NotFound, TrainingClient, job_view
from kubedl.client.job import Job
from kubedl.client.job_page import Page, ReplicaRow, progress_of
from kubedl.client.job_view import JobView
from tests.unit.client.api_server import ApiServer, ended, running, until

HOSTILE = "<script>alert(1)</script>\"' onload=x &amp; \x1b[31m\u202e"
DONE = {"state": "Succeeded", "conditions": [{"type": "Succeeded", "status": "True"}]}


class Screen:
    """What a notebook shows: each id has one place."""

    def __init__(self) -> None:
        self.places: dict[str, dict[str, str]] = {}
        self.drawn: list[bool] = []

    def __call__(self, bundle: dict[str, str], *, raw: bool, display_id: str, update: bool = False) -> None:
        assert raw
        assert update == (display_id in self.places)
        self.places[display_id] = bundle
        self.drawn.append(update)

    @property
    def html(self) -> str:
        """The one place."""
        [place] = self.places.values()
        return place["text/html"]


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_view, "OFTEN", 0.02)


def _view(client: TrainingClient, screen: Screen) -> JobView:
    view = client.watch("bert")
    view._display = screen  # noqa: SLF001 - instead of IPython's
    return view


def test_it_is_updated_in_place_and_ends_with_the_job(api: ApiServer, client: TrainingClient) -> None:
    path = api.job("bert", status={"state": "Queuing", "message": "3rd", "conditions": [{"type": "Queuing"}]})
    screen = Screen()
    view = _view(client, screen)
    view._ipython_display_()
    until("first drawing", lambda: "Queuing" in screen.html)
    api.logs["bert-master-0"] = ["2026-01-01T00:00:01Z progress 30/120 loss=0.5\n"]
    pod = api.pod("bert", "master", 0, **running())
    api.put(path, {**api.objects[path], "status": {"state": "Running", "ready": "1/1"}})
    until("replica", lambda: "master-0" in screen.html and "node-0" in screen.html)
    until("bar", lambda: 'value="0.2500"' in screen.html and "loss=0.5" in screen.html)
    api.put(pod, {**api.objects[pod], "status": ended(0)})
    api.put(path, {**api.objects[path], "status": DONE})
    assert view.wait().is_succeeded
    until("end", lambda: "Succeeded" in screen.html)
    assert screen.drawn[0] is False
    assert all(screen.drawn[1:])
    assert "25%" in str(view)


def test_everything_that_people_wrote_is_text(api: ApiServer) -> None:
    """Names and messages come from whoever may create a job."""
    conditions = [{"type": HOSTILE, "status": "True", "message": HOSTILE}]
    status = {"state": HOSTILE, "ready": HOSTILE, "message": HOSTILE, "conditions": conditions}
    job = Job.of({"kind": HOSTILE, "metadata": {"name": HOSTILE, "namespace": HOSTILE}, "status": status})
    rows = tuple(ReplicaRow(HOSTILE, HOSTILE, HOSTILE, 1, HOSTILE) for _ in range(30))
    page = Page(job, rows, progress_of("progress 1/2 a=<b>"), HOSTILE, HOSTILE)
    assert page.html().count(HOSTILE[:8]) == job._repr_mimebundle_()["text/html"].count(HOSTILE[:8]) == 0
    for text in (page.html(), page.text()):
        assert "\x1b" not in text
        assert "\u202e" not in text
    shown = page.html()
    assert "<script" not in shown
    assert "a=<b>" not in shown
    assert shown.count("&lt;script&gt;") >= 20
    assert "and 10 more replicas" in shown


def test_interrupting_the_kernel_detaches(
    api: ApiServer, client: TrainingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, screen = api.job("bert", status={"state": "Running"}), Screen()
    view = _view(client, screen)
    view._ipython_display_()

    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            raise KeyboardInterrupt

    kept = view._over  # noqa: SLF001
    with monkeypatch.context() as patched:
        patched.setattr(view, "_over", Interrupted())
        assert view.wait().state == "Running"
    kept.set()
    until("note", lambda: "Detached; bert goes on." in screen.html)
    assert path in api.objects
    assert not [call for call in api.calls if call.method != "GET"]


def test_drawings_are_bounded(api: ApiServer, client: TrainingClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a job changes, it is drawn once in a while."""
    monkeypatch.setattr(job_view, "OFTEN", 0.2)
    path, screen = api.job("bert", status={"state": "Running"}), Screen()
    view = _view(client, screen)
    view._ipython_display_()
    until("watch", lambda: any(call.query.get("watch") for call in api.calls))
    began = time.monotonic()
    for number in range(200):
        api.put(path, {**api.objects[path], "status": {"state": "Running", "ready": f"{number}/200"}})
    until("news", lambda: "199/200" in screen.html)
    assert len(screen.drawn) <= 3 + (time.monotonic() - began) / 0.2
    view.detach()


def test_why_is_asked_for_when_a_phase_is_long(api: ApiServer, client: TrainingClient) -> None:
    api.job("bert", status={"state": "Queuing", "message": "quota"})  # created long ago
    screen = Screen()
    view = _view(client, screen)
    view._ipython_display_()
    until("why", lambda: bool(view._page.why))  # noqa: SLF001
    assert view._page.why == str(client.why("bert")).splitlines()[0]  # noqa: SLF001
    view.detach()


def test_without_ipython_it_is_text(api: ApiServer, client: TrainingClient, capsys: pytest.CaptureFixture[str]) -> None:
    api.job("bert", status=DONE)
    view: Any = client.watch("bert")
    assert view._repr_mimebundle_()["text/plain"] == repr(view) == str(view)
    view._ipython_display_()
    assert capsys.readouterr().out == f"{view}\n"
    with pytest.raises(NotFound):
        client.watch("nothing")


@pytest.mark.parametrize(
    "line", ["progress", "progress 1", "progress a/b", "my progress 1/2", "progress 1/2 " + "a=b " * 400]
)
def test_other_lines_tell_no_progress(line: str) -> None:
    assert progress_of(line) is None
