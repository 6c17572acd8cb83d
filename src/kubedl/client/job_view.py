"""A job in a notebook: shown once, then updated in place until it ends. Nothing of it stops or changes the job.

Threads that do not outlive the process watch the job, read the lines of its first replica, and draw. IPython is used if
the program has loaded it already; this module never loads it.
"""

import importlib
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kubedl.client.errors import KubedlError, NotFound
from kubedl.client.job import Job
from kubedl.client.job_page import Page, ReplicaRow, progress_of
from kubedl.client.log_reader import LogOptions
from kubedl.client.replicas import LEADERS, Replica

if TYPE_CHECKING:
    from kubedl.client.training_client import TrainingClient

OFTEN = 0.5  # seconds between two drawings
SELDOM = 5.0  # seconds after which times are drawn again
LONG = 60.0  # seconds of waiting after which the reason is asked for
ENDS = ("succeeded", "failed")

Display = Callable[..., Any]  # IPython's `display`: display(bundle, raw=True, display_id=…, update=…)


class JobView:
    """A job as a notebook shows it; `str()` of it is the text. `wait()` blocks until it ends."""

    def __init__(self, client: "TrainingClient", name: str, display: Display | None = None) -> None:
        """Read the job; raises NotFound. `display` is IPython's by default."""
        self._client = client
        self._page = Page(client.get_job(name))
        self._name = f"{self._page.job.word}/{self._page.job.name}"
        self._display = display
        self._shown = f"kubedl-{self._page.job.uid}-{id(self):x}"
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._over = threading.Event()
        self._started = False
        self._asked_why = float("-inf")
        self._leader = ""

    @property
    def job(self) -> Job:
        """Return the last known state of the job."""
        return self._page.job

    def __str__(self) -> str:
        return self._page.text()

    def __repr__(self) -> str:
        return self._page.text()

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return it in the forms that a notebook may choose from."""
        return {"text/html": self._page.html(), "text/plain": self._page.text()}

    def _ipython_display_(self, **_: object) -> None:
        """Show it, and update what is shown until the job ends. IPython calls this for the last value of a cell."""
        display = self._display or _display_of_ipython()
        if display is None:
            print(self)  # the notebook has no displays
            return
        display(self._repr_mimebundle_(), raw=True, display_id=self._shown)
        self._display = display
        self._start()

    def detach(self) -> None:
        """Follow the job no more; it goes on."""
        if not self._over.is_set():
            self._change(note=f"Detached; {self._page.job.name} goes on." if not self._page.job.is_finished else "")
            self._over.set()
            self._news.set()
            self._draw()

    def wait(self) -> Job:
        """Return the job when it has ended. Interrupting the kernel detaches, and returns its last known state."""
        self._start()
        try:
            while not self._over.wait(OFTEN):
                pass
        except KeyboardInterrupt:
            self.detach()
        return self._page.job

    def _start(self) -> None:
        with self._lock:
            if self._started:
                return
            self._started = True
        for work in (self._follow, self._read, self._redraw):
            threading.Thread(target=work, daemon=True, name=f"kubedl {self._name}").start()

    def _follow(self) -> None:
        try:
            self._client.wait_for_job_status(self._name, ENDS, callbacks=[self._see])
        except _Detached:
            return
        except NotFound:
            self._change(note=f"{self._page.job.name} was deleted.")
        except KubedlError as error:
            self._change(note=f"{error.message}: {error.why}")
        self._over.set()
        self._news.set()

    def _see(self, job: Job) -> None:
        if self._over.is_set():
            raise _Detached
        try:
            replicas = tuple(map(_row, self._client.get_job_pods(job)))
        except KubedlError:  # not allowed, or gone: the rest is shown
            replicas = ()
        waits = not job.is_finished and job.state != "Running"
        self._change(job=job, replicas=replicas, **({} if waits else {"why": ""}))

    def _read(self) -> None:
        """Read what the first replica tells about its progress."""
        try:
            for line in self._client.follow_job_logs(self._name, options=LogOptions(tail=100)):
                if self._over.is_set():
                    return
                is_other = bool(self._leader) and _order(line.replica) > _order(self._leader)
                if not is_other and (found := progress_of(line)) is not None:
                    self._leader = line.replica
                    self._change(progress=found)
        except KubedlError:  # no bar, then
            return

    def _redraw(self) -> None:
        while not self._over.is_set():
            self._news.wait(SELDOM)
            self._news.clear()
            self._ask_why()
            self._draw()
            self._over.wait(OFTEN)
        self._draw()

    def _ask_why(self) -> None:
        job, now = self._page.job, time.monotonic()
        waits = not job.is_finished and job.state != "Running"
        if not waits or now - self._asked_why < LONG or _age(job) < LONG:
            return
        self._asked_why = now
        try:
            self._change(why=str(self._client.why(self._name)).partition("\n")[0])
        except KubedlError:
            return

    def _change(self, **parts: Any) -> None:  # noqa: ANN401 - of a Page
        with self._lock:
            self._page = replace(self._page, **parts)
        self._news.set()

    def _draw(self) -> None:
        if self._display is not None:
            self._display(self._repr_mimebundle_(), raw=True, display_id=self._shown, update=True)


class _Detached(Exception):  # noqa: N818 - no error
    """Ends a wait that nobody needs."""


def _row(replica: Replica) -> ReplicaRow:
    return ReplicaRow(replica.name, replica.state, replica.node, replica.restarts, replica.message)


def _order(replica: str) -> tuple[bool, int, str]:
    role, _, index = replica.rpartition("-")
    return role not in LEADERS, int(index) if index.isdecimal() else 0, role


def _age(job: Job) -> float:
    return (datetime.now(UTC) - job.created).total_seconds()


def _display_of_ipython() -> Display | None:
    if "IPython" not in sys.modules:
        return None
    found: Display = importlib.import_module("IPython.display").display
    return found
