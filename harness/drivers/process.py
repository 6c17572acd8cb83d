"""A program under test as a process of its own, whose end is either asked for or an error.

It never outlives its starter: the kernel kills it when the starter ends, however that ends. What it
uses of the machine is read from /proc while it lives.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from testbed.errors import TestbedError
from testbed.http import NO_PROXIES
from testbed.processes import last_words
from testbed.waiting import until

STOP_DEADLINE = 30.0
TAIL = 40

# The kernel sends a child its parent-death signal when the *thread* that started it ends, so one thread
# that lives as long as this process starts them all, whoever asks.
_spawner = ThreadPoolExecutor(1, thread_name_prefix="harness-spawner")


class ProcessEndedError(TestbedError):
    """A process ended that nobody had asked to end; the message carries the end of its log."""


class Process:
    """Runs from `start` (or `with`) to `stop` or `kill`, and may be started again; its output goes to `log_file`."""

    def __init__(self, command: Sequence[str], log_file: Path, environment: Mapping[str, str], directory: Path) -> None:
        self._command = ["setpriv", "--pdeathsig=KILL", *command]
        self._environment = {**os.environ, **NO_PROXIES, **environment}
        self._directory = directory
        self.log_file = log_file
        self._running: subprocess.Popen[bytes] | None = None
        self._frozen = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(f"the end of {self.log_file}:\n{self.tail()}")
            self.kill()
        elif self._running is not None:
            self.insist()
            self.stop()

    def start(self) -> None:
        """Start it without waiting for anything that it will do."""
        if self._running is not None:
            raise TestbedError(f"{self.name} runs already, as pid {self.pid}")
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        self._running = _spawner.submit(self._spawn).result()

    @property
    def name(self) -> str:
        return self.log_file.stem

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs, or is frozen."""
        return self._running is not None and self._running.poll() is None

    def insist(self) -> bool:
        """True, or an error with the end of its log if it has ended although nobody asked it to."""
        if not self.alive:
            code = self._running.returncode if self._running is not None else "no exit code: it was not started"
            raise ProcessEndedError(f"{self.name} ended with {code}; the end of {self.log_file}:\n{self.tail()}")
        return True

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone. A process that has ended already is fine."""
        if self._running is not None:
            self._signal(signal.SIGKILL)
            self._running.wait(STOP_DEADLINE)
            self._forget()

    def stop(self, deadline: float = STOP_DEADLINE) -> int:
        """SIGTERM, wait for the end, return the exit code; who does not end in time is killed, which is an error."""
        process = self._process
        self._signal(signal.SIGTERM)
        if self._frozen:
            self.resume()
        try:
            code = process.wait(deadline)
        except subprocess.TimeoutExpired as error:
            said = self.tail()
            self.kill()
            raise TestbedError(f"{self.name} did not end within {deadline:g} s of SIGTERM; its log:\n{said}") from error
        self._forget()
        return code

    def wait_ended(self, deadline: float = STOP_DEADLINE) -> int:
        """Wait for an end that somebody else brings about (a fault, itself) and return the exit code."""
        process = self._process
        until(f"{self.name} to end", lambda: process.poll() is not None, deadline=deadline, interval=0.01)
        self._forget()
        return process.returncode

    def freeze(self) -> None:
        """SIGSTOP: it keeps its connections and does nothing."""
        self._signal(signal.SIGSTOP)
        self._frozen = True

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)
        self._frozen = False

    def log(self) -> str:
        """What it said so far; a restart goes on in the same file."""
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def tail(self) -> str:
        return last_words(self.log_file, TAIL) if self.log_file.exists() else ""

    def cpu_seconds(self) -> float:
        """Seconds of processor time since it was started."""
        return cpu_seconds(Path(f"/proc/{self.pid}/stat").read_text(), os.sysconf("SC_CLK_TCK"))

    def rss_bytes(self) -> int:
        """Resident memory now."""
        return memory_field(Path(f"/proc/{self.pid}/status").read_text(), "VmRSS")

    def peak_rss_bytes(self) -> int:
        """The most resident memory it ever had."""
        return memory_field(Path(f"/proc/{self.pid}/status").read_text(), "VmHWM")

    @property
    def _process(self) -> "subprocess.Popen[bytes]":
        if self._running is None:
            raise TestbedError(f"{self.name} is not running")
        return self._running

    def _spawn(self) -> "subprocess.Popen[bytes]":
        with self.log_file.open("ab") as output:
            return subprocess.Popen(
                self._command,
                cwd=self._directory,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def _forget(self) -> None:
        self._running, self._frozen = None, False


def cpu_seconds(stat: str, ticks: int) -> float:
    """User and system time from the text of /proc/<pid>/stat, whose second field may hold anything, spaces too."""
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / ticks


def memory_field(status: str, name: str) -> int:
    """One of the sizes of /proc/<pid>/status, in bytes."""
    for line in status.splitlines():
        field, _, value = line.partition(":")
        if field == name:
            return int(value.split()[0]) * 1024
    raise TestbedError(f"/proc has no {name}: the process has ended")
