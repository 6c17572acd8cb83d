"""A process is stopped at the worst moment: after it has asked whether it may write, and before it does.

This file is also that process: `python -m tests.unit.runtime.test_lease_timer [alarm]`.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from kubedl.runtime.lease_timer import SECONDS, lease_timer

ROOT = Path(__file__).parents[3]
LEASE = 2 * SECONDS  # seconds that it may write
FROZEN = 2 * LEASE


@pytest.mark.parametrize(("arguments", "written"), [(["alarm"], b""), ([], b"late")])
def test_who_wakes_up_does_not_write(arguments: list[str], written: bytes) -> None:
    """Though it had leave to; without the alarm it would, which shows that the moment was hit."""
    command = [sys.executable, "-m", "tests.unit.runtime.test_lease_timer", *arguments]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=ROOT) as process:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        time.sleep(FROZEN)  # what is tested is that this much time passes
        process.send_signal(signal.SIGCONT)
        assert process.communicate(timeout=30)[0] == written


def test_nothing_rings_afterwards() -> None:
    """The signal means again what it meant before."""
    before = signal.getsignal(signal.SIGALRM)
    with lease_timer(lambda: None):
        assert signal.getitimer(signal.ITIMER_REAL)[1] == SECONDS
    assert (signal.getitimer(signal.ITIMER_REAL), signal.getsignal(signal.SIGALRM)) == ((0.0, 0.0), before)


def _program(with_alarm: bool) -> None:
    ends = time.monotonic() + LEASE

    def check() -> None:
        if time.monotonic() >= ends:
            os._exit(1)

    with lease_timer(check) if with_alarm else nullcontext():
        check()
        os.kill(os.getpid(), signal.SIGSTOP)
        os.write(1, b"late")


if __name__ == "__main__":
    _program(with_alarm="alarm" in sys.argv[1:])
