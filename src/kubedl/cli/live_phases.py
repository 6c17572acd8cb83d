"""`submit --wait`: the phases of a job, live on a terminal, and a line for each change elsewhere."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import click

from kubedl.cli.durations import precise
from kubedl.cli.phases import RUNNING, Observed, Phase, Pods, current, lines
from kubedl.cli.progress import STEP, Progress, parse, rank_zero
from kubedl.cli.terminal import Terminal, printable
from kubedl.client import Job, KubedlError, NotFound, TrainingClient, WaitTimeout
from kubedl.client.log_reader import LogOptions

LONG = 60.0  # seconds of a phase after which it is asked why
READ_EVERY = 5.0  # seconds between two looks at what the program prints
LINES = 50  # that are read of it
QUICK, SLOW = 0.2, 5.0  # seconds between two looks, on a terminal and elsewhere


def wait_with_phases(client: TrainingClient, name: str, timeout: float | None, keep: Callable[[Job], None]) -> Job:
    """Wait until a job succeeds. `keep` is told what was last seen of it; raises what a wait raises."""
    terminal = Terminal.of(sys.stderr, "auto", os.environ)
    is_live = terminal.width is not None
    view: Screen | Log = Screen(terminal) if is_live else Log()
    reason, observed, printed = Reason(client, name), Observed(), Printed(client, name)
    last: Job | None = None
    try:
        for state in client.follow_job(name, timeout=timeout, tick=QUICK if is_live else SLOW):
            if state.job is None:
                raise NotFound(f"{name} was deleted while it was waited for", "", ("kubedl history get",))
            last = state.job
            keep(last)
            found = printed.added(observed.phases(last, state.pods, datetime.now(UTC)), state.pods or (), bar=is_live)
            view.show(last.name, found, reason.of(last, current(found)))
            if last.is_succeeded:
                return last
            if last.is_failed:
                raise client.failure(last)
    finally:
        view.close()
    seen = last.state if last is not None and last.state else "no state yet"
    short = name.rpartition("/")[2]
    raise WaitTimeout(f"{short} is not complete after {timeout:g} s: {seen}", last, (f"kubedl why {short}",))


class Reason:
    """Asks why when a phase lasts, at most once a minute."""

    def __init__(self, client: TrainingClient, name: str) -> None:
        self._client = client
        self._name = name
        self._phase = ""
        self._asked = 0.0
        self._text = ""

    def of(self, job: Job, phase: Phase) -> str:
        """Return the first line of `why`; empty while a phase is short, or all is well."""
        if phase.name != self._phase:
            self._phase, self._text, self._asked = phase.name, "", 0.0
        lasts = (phase.seconds or 0.0) > LONG and phase.state == "now"
        if not lasts or (phase.name == RUNNING and job.state == "Running" and not job.message):
            return ""
        if not self._asked or time.monotonic() - self._asked > LONG:
            self._asked = time.monotonic()
            try:
                self._text = self._client.why(self._name).first
            except KubedlError:
                self._text = ""  # the phases say enough
        return self._text


class Printed:
    """Reads how far the program is, from the last lines of rank 0, every few seconds while the job runs."""

    def __init__(self, client: TrainingClient, name: str) -> None:
        self._client = client
        self._name = name
        self._read = 0.0
        self._found: Progress | None = None
        self._told = -1
        self._text = ""

    def added(self, found: Sequence[Phase], pods: Pods, *, bar: bool) -> list[Phase]:
        """Return the phases, with progress at the one that runs. In a log it is told by steps."""
        last = current(found)
        replica = rank_zero(pods) if last.name == RUNNING and last.state == "now" else ""
        if replica and time.monotonic() - self._read > READ_EVERY:
            self._read = time.monotonic()
            self._found = self._asked(replica) or self._found
        if not replica or self._found is None:
            return list(found)
        step = self._found.percent // STEP
        if not bar and step != self._told:
            self._told, self._text = step, self._found.text(last.seconds or 0.0, bar=False)
        text = self._found.text(last.seconds or 0.0, bar=True) if bar else self._text
        return [replace(one, text=text) if one is last else one for one in found]

    def _asked(self, replica: str) -> Progress | None:
        try:
            return parse(self._client.get_job_logs(self._name, wanted=(replica,), options=LogOptions("", LINES)))
        except KubedlError:
            return None  # the phase says enough


class Screen:
    """Phases that are written again and again in the same lines."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._height = 0
        self._turn = 0

    def show(self, _: str, found: Sequence[Phase], why: str) -> None:
        """Write the phases over what was written before."""
        self._turn += 1
        texts = [*lines(self._terminal, found, why, self._turn), "Ctrl-C leaves the job running."]
        up = f"\x1b[{self._height}A" if self._height else ""
        self._terminal.stream.write(up + "".join(f"\x1b[2K{text}\n" for text in texts) + "\x1b[J")
        self._terminal.stream.flush()
        self._height = len(texts)

    def close(self) -> None:
        """Leave the phases, and take the last line away."""
        if self._height:
            self._terminal.stream.write("\x1b[1A\x1b[2K")
            self._terminal.stream.flush()


class Log:
    """A line with the time for each change, so that the log of a pipeline reads well."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[str, str]] = {}

    def show(self, name: str, found: Sequence[Phase], why: str) -> None:
        """Write what is new."""
        for one in found:
            news = (one.state, one.text)
            if one.state != "to come" and self._said.get(one.name) != news:
                self._said[one.name] = news
                passed = f"after {precise(one.seconds)}" if one.state == "done" and one.seconds is not None else ""
                self._write(name, one.name, one.text, passed)
        if why and self._said.get("why") != ("", why):
            self._said["why"] = ("", why)
            self._write(name, "why", why)

    @staticmethod
    def _write(*words: str) -> None:
        now = f"{datetime.now():%H:%M:%S}"  # noqa: DTZ005 - the person's clock
        click.echo(printable(" ".join(filter(None, (now, *words)))), err=True)

    def close(self) -> None:
        """Nothing is left to do."""
