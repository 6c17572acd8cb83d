"""Waiting for jobs, with a line for each change, and the exit code that a job gives its command."""

import queue
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import click

from kubedl.cli import failures
from kubedl.cli.durations import precise
from kubedl.cli.settings import Settings
from kubedl.cli.terminal import printable
from kubedl.client import Job, NotFound, TrainingClient
from kubedl.client.waiting import DELETED


@dataclass(frozen=True)
class Waited:
    """What is waited for, and how the wait is shown."""

    state: str
    timeout: float | None = None
    any_of: bool = False  # the first of several jobs counts
    form: str = ""  # json or yaml: print how it ended
    shows_phases: bool = False


@dataclass
class Waiting:
    """One job that is waited for: the last that was seen of it, and the code that it gives the command."""

    name: str
    job: Job | None = None
    code: int = failures.OWN_FAILURE


class Voice:
    """What threads say, until the command has what it waits for: one that goes on then says nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_over = False

    def say(self, text: str) -> None:
        """Print a line to standard error."""
        self.do(lambda: click.echo(text, err=True))

    def do(self, speak: Callable[[], None]) -> None:
        """Call what prints."""
        with self._lock:
            if not self._is_over:
                speak()

    def end(self) -> None:
        """Let nothing be said any more."""
        with self._lock:
            self._is_over = True


def wait_for_all(settings: Settings, names: Sequence[str], wanted: Waited) -> int:
    """Wait for jobs, and return the highest exit code; with `any_of`, that of the first job."""
    answers: queue.Queue[Waiting] = queue.Queue()
    voice = Voice()
    with settings.client() as client:
        for name in names:
            arguments = (client, Waiting(name), wanted, len(names) == 1, voice, answers.put)
            threading.Thread(target=_wait_in_thread, args=arguments, daemon=True).start()
        try:
            ended = [answers.get() for _ in (names[:1] if wanted.any_of else names)]
        except KeyboardInterrupt:
            return detached(names)
        finally:
            voice.end()
    if wanted.form:
        from kubedl.cli.outputs import results  # noqa: PLC0415 - people read text
        from kubedl.cli.structured import print_object  # noqa: PLC0415

        print_object(results([(one.name, one.job, one.code) for one in ended]), wanted.form)
    return max(one.code for one in ended)


def _wait_in_thread(
    client: TrainingClient,
    waiting: Waiting,
    wanted: Waited,
    is_only: bool,
    voice: Voice,
    done: Callable[[Waiting], None],
) -> None:
    def run() -> None:
        if wanted.shows_phases and is_only:
            from kubedl.cli.live_phases import wait_with_phases  # noqa: PLC0415 - `wait` needs none

            waiting.job = job = wait_with_phases(client, waiting.name, wanted.timeout, lambda job: _keep(waiting, job))
            voice.say(ending(job))
        else:
            wait_for(client, waiting, wanted.state, wanted.timeout, voice)

    try:
        waiting.code = failures.code_of_job(run, lambda error: voice.do(lambda: failures.print_failure(error)))
    finally:
        done(waiting)


def _keep(waiting: Waiting, job: Job) -> None:
    waiting.job = job


def wait_for(client: TrainingClient, waiting: Waiting, state: str, timeout: float | None, voice: Voice) -> None:
    """Wait for one job; every change is a line on standard error. One that is not there counts as deleted."""
    changes = Changes(voice.say)
    callbacks = (changes.say, lambda job: _keep(waiting, job))
    try:
        waiting.job = job = client.wait_for_job_status(waiting.name, (state,), timeout=timeout, callbacks=callbacks)
    except NotFound as error:
        if state.lower() != DELETED or waiting.job is not None:
            raise
        voice.say(printable(error.message))
        return
    if job.is_succeeded:
        voice.say(ending(job))


class Changes:
    """Says what is new about a job: a line with the time, so that the log of a pipeline reads well."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._tell = say
        self._said: tuple[str, ...] = ()

    def say(self, job: Job) -> None:
        """Print a line if state, readiness or message have changed; the end is told by others."""
        news = (job.state or "Created", str(job.status.get("ready") or ""), job.message)
        if news != self._said and not job.is_finished:
            now = f"{datetime.now():%H:%M:%S}"  # noqa: DTZ005 - the person's clock
            self._tell(printable(f"{now} {job.name} {' '.join(filter(None, news))}"))
        self._said = news


def tell_end(client: TrainingClient, job: Job) -> None:
    """Print the last line about a job that was followed. Raises JobFailed, and NotFound if it was deleted before."""
    if job.is_failed:
        raise client.failure(job)
    if not job.is_finished:
        raise NotFound(f"{job.name} was deleted while it was followed", "", (f"kubedl history get {job.name}",))
    click.echo(ending(job), err=True)


def ending(job: Job) -> str:
    """Return the last line about a job that has ended."""
    lasted = f" after {precise((job.finished - job.created).total_seconds())}" if job.finished is not None else ""
    return printable(f"{job} {job.state.lower()}{lasted}")


def detached(names: Sequence[str]) -> int:
    """Say that Ctrl-C has stopped nothing, and return the exit code."""
    first = names[0]
    what = f"{first} goes on" if len(names) == 1 else "the jobs go on"
    click.echo(f"\nDetached; {what}.   kubedl logs -f {first}      kubedl wait {' '.join(names)}", err=True)
    sys.stderr.flush()
    return failures.INTERRUPTED
