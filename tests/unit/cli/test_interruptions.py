"""Ctrl-C, and a reader that has read enough: commands as processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.client.api_server import ApiServer, until

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("words", [("wait", "bert"), ("logs", "-f", "bert")], ids=" ".join)
def test_ctrl_c_detaches_and_says_so(api: ApiServer, words: tuple[str, ...]) -> None:
    """Nothing that runs in the cluster is stopped by a key."""
    api.job("bert", status={"state": "Running"})
    with _started(api, *words) as process:
        until("watch", lambda: any(call.query.get("watch") for call in api.calls), 30)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "Detached; bert goes on.   kubedl logs -f bert      kubedl wait bert"
    assert not [call for call in api.calls if call.method == "DELETE"]


def test_a_reader_that_has_read_enough_is_no_error(api: ApiServer) -> None:
    for number in range(2000):
        api.job(f"job-{number}")
    with _started(api, "list") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("NAME")
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()
        process.wait(60)
    assert (process.returncode, said) == (0, "")


def _started(api: ApiServer, *words: str) -> "subprocess.Popen[str]":
    # A shell starts what runs in its background with SIGINT ignored, and so would be what the tests start.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "kubedl.entrypoints.command", *words, "-n", "team", "--server", api.url],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, inherited)
