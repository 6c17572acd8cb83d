"""A program under test ends when asked, and its unasked end is noticed."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.drivers.process import Process, ProcessEndedError, cpu_seconds, memory_field
from testbed.errors import TestbedError
from testbed.waiting import until

WAIT = "import signal; print('ready', flush=True); signal.pause()"
DEAF = "import signal; signal.signal(15, signal.SIG_IGN); print('ready', flush=True)\nwhile True: signal.pause()"
POLITE = (
    "import signal, sys; signal.signal(15, lambda *_: sys.exit(3)); print('ready', flush=True)\n"
    "while True: signal.pause()"
)

Program = Callable[[str], Process]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Makes a process that runs a piece of Python."""
    return lambda code: Process([sys.executable, "-c", code], tmp_path / "program.log", {}, tmp_path)


def say_ready(process: Process) -> None:
    until("the program to say that it is ready", lambda: "ready" in process.log(), deadline=60, interval=0.01)


def state(process: Process) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_it_runs_in_a_session_of_its_own_and_uses_memory(program: Program) -> None:
    with program(WAIT) as process:
        say_ready(process)
        session = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[3]
        assert session == str(process.pid)
        assert process.alive
        assert 1_000_000 < process.rss_bytes() <= process.peak_rss_bytes()
        assert process.cpu_seconds() >= 0


def test_stop_returns_the_exit_code(program: Program) -> None:
    with program(POLITE) as process:
        say_ready(process)
        assert process.stop() == 3
        assert not process.alive


def test_a_frozen_process_stops_too(program: Program) -> None:
    with program(POLITE) as process:
        say_ready(process)
        process.freeze()
        until("it to be frozen", lambda: state(process) == "T", deadline=60)
        assert process.alive
        assert process.stop() == 3


def test_a_process_that_ignores_sigterm_is_killed_and_reported(program: Program) -> None:
    with program(DEAF) as process:
        say_ready(process)
        with pytest.raises(TestbedError, match="did not end within"):
            process.stop(deadline=0.2)
        assert not process.alive


def test_after_a_kill_it_may_be_started_again(program: Program) -> None:
    with program(WAIT) as process:
        say_ready(process)
        first = process.pid
        process.kill()
        process.start()
        assert process.pid != first


def test_an_end_that_was_waited_for_is_no_error(program: Program) -> None:
    with program("raise SystemExit(7)") as process:
        assert process.wait_ended(deadline=60) == 7


def test_an_unasked_end_shows_its_last_words(program: Program) -> None:
    with (
        pytest.raises(ProcessEndedError, match=r"(?s)ended with 7.*last words"),
        program("print('last words', flush=True); raise SystemExit(7)") as process,
    ):
        until("the program to end", lambda: not process.alive, deadline=60)


def test_a_failing_block_keeps_its_error_and_notes_the_log(program: Program) -> None:
    process = program(WAIT)

    def block() -> None:
        with process:
            say_ready(process)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        block()
    assert "ready" in caught.value.__notes__[0]
    assert not process.alive


def test_it_dies_with_its_starter(tmp_path: Path) -> None:
    """Once the program runs: setpriv has asked the kernel for the signal by then."""
    starter = (
        "import os, sys; from pathlib import Path; from harness.drivers.process import Process\n"
        f"process = Process([sys.executable, '-c', {WAIT!r}], Path('program.log'), {{}}, Path.cwd())\n"
        "process.start(); print(process.pid, flush=True)\n"
        "while 'ready' not in process.log(): pass\n"
        "os.kill(os.getpid(), 9)\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", starter],
        cwd=tmp_path,
        env={"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    until("the orphan to be gone", lambda: not Path(f"/proc/{int(done.stdout)}").exists(), deadline=60)


def test_times_are_read_behind_a_name_with_spaces() -> None:
    stat = "42 (a ) b) S " + " ".join(str(number) for number in range(4, 53))
    assert cpu_seconds(stat, ticks=100) == (14 + 15) / 100


def test_sizes_are_bytes() -> None:
    status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n"
    assert memory_field(status, "VmRSS") == 1024 * 1024
    with pytest.raises(TestbedError, match="VmSwap"):
        memory_field(status, "VmSwap")
