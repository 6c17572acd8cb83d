"""Processes of a test bed, known by a mark in their environment.

The mark is the only record: it is set by the same call that starts a process, so no kill of the
launcher can leave a process that the next start does not find, and no recycled pid can make it end
a stranger. A pid is opened (pidfd) before its mark is read, so the signal reaches what was read.
"""

import contextlib
import os
import re
import select
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import TestbedError
from testbed.http import NO_PROXIES
from testbed.paths import home

MARK = "KUBEDL_TESTBED"
EXEC = 10.0  # seconds: longer than any program takes to be loaded
_MARK = re.compile(rf"(?:^|\0){MARK}=(\d+)\|([^\0|]+)\|([^\0]+)".encode())


@dataclass(frozen=True)
class Marked:
    """A running process of a test bed."""

    pid: int
    instance: int
    component: str
    home: str


def start(
    instance: int, component: str, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> int:
    """Start a detached, marked process that outlives its starter; its output goes to `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    marked = {**os.environ, **NO_PROXIES, **(environment or {}), MARK: f"{instance}|{component}|{home()}"}
    writing = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawnp(
        command[0],
        list(command),
        marked,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), writing, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    _until_marked(pid)
    return pid


def find(instance: int, component: str | None = None) -> list[Marked]:
    """The living processes of an instance, children that inherited a mark among them.

    `component` also matches what lies below it (`node1`).
    """
    return [
        process
        for process in everything()
        if process.instance == instance and (component is None or _within(process.component, component))
    ]


def everything() -> Iterator[Marked]:
    """Every marked process on the machine."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            marked = _marked(int(entry.name))
            if marked:
                yield marked


def components(instance: int) -> dict[str, Marked]:
    """The running components by name.

    Each was started as the leader of a session; what it started in turn is not (containerd's shims
    outlive it and bear its mark).
    """
    return {process.component: process for process in find(instance) if _leads_session(process.pid)}


def one(instance: int, component: str) -> Marked:
    """The process of a component that must be running."""
    running = components(instance)
    if component not in running:
        names = ", ".join(sorted(running))
        raise TestbedError(f"{component} is not running in instance {instance}; running: {names}")
    return running[component]


def insist(instance: int, component: str, log: Path) -> None:
    """Raise, with the end of its log, if a component that was started has ended."""
    if component not in components(instance):
        raise TestbedError(f"{component} ended; the end of {log}:\n{last_words(log)}")


def last_words(log: Path, lines: int = 15) -> str:
    """The end of a log, for an error message."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


def send(processes: Iterable[Marked], number: signal.Signals) -> None:
    """Signal each process, unless it has ended meanwhile."""
    with _opened(processes) as descriptors:
        _signal(descriptors.values(), number)


def kill(processes: Iterable[Marked]) -> None:
    """End each at once and return when all are gone, with their sockets and files closed.

    A frozen process dies of SIGKILL too.
    """
    with _opened(processes) as descriptors:
        _signal(descriptors.values(), signal.SIGKILL)
        for process, descriptor in descriptors.items():
            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            if not poller.poll(60_000):
                raise TestbedError(f"pid {process.pid} ({process.component}) survives SIGKILL")
            with contextlib.suppress(ChildProcessError):  # our own child would stay a zombie
                os.waitpid(process.pid, os.WNOHANG)


def _signal(descriptors: Iterable[int], number: signal.Signals) -> None:
    for descriptor in descriptors:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, number)


@contextlib.contextmanager
def _opened(processes: Iterable[Marked]) -> Iterator[dict[Marked, int]]:
    """Descriptors of exactly these processes; who has ended meanwhile is left out."""
    with contextlib.ExitStack() as stack:
        descriptors: dict[Marked, int] = {}
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                descriptor = os.pidfd_open(process.pid)
                stack.callback(os.close, descriptor)
                if _marked(process.pid) == process:
                    descriptors[process] = descriptor
        yield descriptors


def _marked(pid: int) -> Marked | None:
    found = _MARK.search(_environment(pid))
    if not found:
        return None
    instance, component, origin = found.groups()
    return Marked(pid, int(instance), component.decode(), origin.decode())


def _until_marked(pid: int) -> None:
    """Wait until a process that was just started can be found, or has ended already.

    posix_spawn returns in the middle of exec, when the kernel shows no environment yet. On a busy machine that lasts
    longer than a look at every process may wait, and what was just started would count as ended.
    """
    end = time.monotonic() + EXEC
    while time.monotonic() < end and not _marked(pid):
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return


def _leads_session(pid: int) -> bool:
    try:
        return os.getsid(pid) == pid
    except ProcessLookupError:
        return False


def _environment(pid: int) -> bytes:
    """A process's environment, empty if it has ended.

    In the middle of exec a living process shows an empty one for some microseconds.
    """
    try:
        for _ in range(20):
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            # A kernel thread and a zombie have no memory, and never an environment.
            if environment or Path(f"/proc/{pid}/statm").read_text().startswith("0 "):
                return environment
            time.sleep(0.001)
    except OSError:  # it ended, or belongs to somebody whose environment is not ours to read
        pass
    return b""


def _within(component: str, wanted: str) -> bool:
    return component == wanted or component.startswith(wanted + "/")
