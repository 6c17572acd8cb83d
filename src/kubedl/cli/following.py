"""Waiting for jobs, with a line for each change, and the exit code that a job gives its command."""

import queue
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import datetime

import click

from kubedl.cli import failures
from kubedl.cli.durations import precise
from kubedl.cli.settings import Settings
from kubedl.cli.terminal import printable
from kubedl.client import Job, TrainingClient


def wait_for_all(settings: Settings, names: Sequence[str], state: str, timeout: float | None, *, any_of: bool) -> int:
    """Wait for jobs, and return the highest exit code; with `any_of`, that of the first job."""
    answers: queue.Queue[int] = queue.Queue()
    with settings.client() as client:
        for name in names:
            arguments = (client, name, state, timeout, answers.put)
            threading.Thread(target=_wait_in_thread, args=arguments, daemon=True).start()
        try:
            codes = [answers.get() for _ in (names[:1] if any_of else names)]
        except KeyboardInterrupt:
            return detached(names)
    return max(codes)


def _wait_in_thread(
    client: TrainingClient, name: str, state: str, timeout: float | None, done: Callable[[int], None]
) -> None:
    code = failures.OWN_FAILURE
    try:
        code = failures.code_of_job(lambda: wait_for(client, name, state, timeout))
    finally:
        done(code)


def wait_for(client: TrainingClient, name: str, state: str, timeout: float | None) -> Job:
    """Wait for one job; every change is a line on standard error."""
    changes = Changes()
    job = client.wait_for_job_status(name, (state,), timeout=timeout, callbacks=(changes.say,))
    if job.is_succeeded:
        click.echo(ending(job), err=True)
    return job


class Changes:
    """Says what is new about a job: a line with the time, so that the log of a pipeline reads well."""

    def __init__(self) -> None:
        self._said: tuple[str, ...] = ()

    def say(self, job: Job) -> None:
        """Print a line if state, readiness or message have changed; the end is told by others."""
        news = (job.state or "Created", str(job.status.get("ready") or ""), job.message)
        if news != self._said and not job.is_finished:
            click.echo(printable(f"{datetime.now():%H:%M:%S} {job.name} {' '.join(filter(None, news))}"), err=True)  # noqa: DTZ005 - the person's clock
        self._said = news


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
