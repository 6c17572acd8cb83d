"""The children of a fork server are processes like any other: they take arguments, log, end and can be killed."""

import signal
import subprocess
from pathlib import Path

import pytest

from harness.drivers.forkserver import ForkServer

PROGRAM = """
import signal, sys
def main(arguments):
    print("said", *arguments, flush=True)
    if arguments[0] == "wait":
        signal.pause()
    if arguments[0] == "break":
        raise RuntimeError("broken")
    return int(arguments[1])
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Where the program is imported from."""
    (tmp_path / "forkserver_program.py").write_text(PROGRAM)
    return tmp_path


def test_children_end_each_with_its_own_code(source: Path) -> None:
    """Many from one import."""
    with ForkServer("forkserver_program", source) as forkserver:
        children = [forkserver.start(["end", str(code)], source / f"{code}.log") for code in (0, 3)]
        assert [child.wait(60) for child in children] == [0, 3]
    assert (source / "3.log").read_text() == "said end 3\n"


def test_a_child_is_killed_alone(source: Path) -> None:
    """By its own pid; the fork server goes on."""
    with ForkServer("forkserver_program", source) as forkserver:
        first, second = (forkserver.start(["wait"], source / "log") for _ in range(2))
        first.send_signal(signal.SIGKILL)
        assert first.wait(60) == -signal.SIGKILL
        assert second.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(0.01)


def test_an_exception_ends_the_child_and_is_in_its_log(source: Path) -> None:
    """It does not fall back into the fork server."""
    with ForkServer("forkserver_program", source) as forkserver:
        assert forkserver.start(["break"], source / "log").wait(60) == 70
        assert forkserver.start(["end", "0"], source / "log").wait(60) == 0
    assert "RuntimeError: broken" in (source / "log").read_text()
