"""Starts a program hundreds of times without importing it hundreds of times.

One process imports the program and forks a child for each start; a child is a process like any other: own session,
own log, own pid to kill. Importing the operator costs most of a second of processor time, a fork a few milliseconds.

    python -m harness.drivers.forkserver kubedl.entrypoints.operator

answers JSON lines on its standard output to JSON lines on its standard input, one for one. A child is reaped only when
asked for, so its pid is not reused before that. Children die with it, and it with its starter.
"""

import ctypes
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from testbed.http import NO_PROXIES

ROOT = Path(__file__).parents[2]
PR_SET_PDEATHSIG = 1


class Child:
    """A started program, with as much of Popen as the harness uses."""

    def __init__(self, forkserver: "ForkServer", pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._forkserver = forkserver
        self._handle = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Its exit code, negative for a signal, if it has ended."""
        return self._reap(0)

    def wait(self, timeout: float) -> int:
        """Wait for its end."""
        code = self._reap(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"forked child {self.pid}", timeout)
        return code

    def send_signal(self, number: int) -> None:
        """Signal it, and never another process."""
        if self.returncode is None:
            signal.pidfd_send_signal(self._handle, number)

    def _reap(self, timeout: float) -> int | None:
        if self.returncode is None and select.select([self._handle], [], [], timeout)[0]:
            self.returncode = os.waitstatus_to_exitcode(self._forkserver.ask({"reap": self.pid}))
            os.close(self._handle)
        return self.returncode


class ForkServer:
    """The starter's side: `with ForkServer("kubedl.entrypoints.operator", source) as forkserver:`."""

    def __init__(self, module: str, source: Path) -> None:
        """`source` is the directory that the program is imported from."""
        self._command = ["setpriv", "--pdeathsig=KILL", sys.executable, "-m", "harness.drivers.forkserver", module]
        self._environment = {**os.environ, **NO_PROXIES, "PYTHONPATH": os.pathsep.join([str(source), str(ROOT)])}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, env=self._environment, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def start(self, arguments: Sequence[str], log_file: Path) -> Child:
        """Run the module's `main(arguments)` in a new process; its output is added to the file."""
        return Child(self, self.ask({"start": list(arguments), "log": str(log_file)}))

    def ask(self, request: Mapping[str, Any]) -> int:
        """One request, one number."""
        streams = self._process
        if streams.stdin is None or streams.stdout is None:
            raise RuntimeError("the fork server has not been started")
        with self._lock:
            streams.stdin.write(json.dumps(request).encode() + b"\n")
            streams.stdin.flush()
            answer = streams.stdout.readline()
        if not answer:
            raise RuntimeError(f"the fork server ended with {streams.wait()} when asked to {request}")
        return int(json.loads(answer))


def main() -> int:
    """The fork server's own side."""
    run: Callable[[Sequence[str]], int] = importlib.import_module(sys.argv[1]).main
    gc.freeze()  # so that a child's collector does not touch, and thereby copy, what it shares
    answers = os.dup(1)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "reap" in request:
            answer = os.waitpid(request["reap"], 0)[1]
        else:
            answer = os.fork()
            if answer == 0:
                os.close(answers)
                _become(run, request["start"], request["log"])
        os.write(answers, b"%d\n" % answer)
    return 0


def _become(run: Callable[[Sequence[str]], int], arguments: Sequence[str], log: str) -> NoReturn:
    """Be the child: nothing of the fork server's goes on in here."""
    code = 70
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        null, output = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.dup2(null, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = run(arguments)
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:  # noqa: BLE001 - it must not fall back into the fork server's loop
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        sys.stdout.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
