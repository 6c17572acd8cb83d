"""Scripts that drive a browser, and how a test and a script wait for each other."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "console" / "browser"
PICTURES = ROOT / "build" / "screenshots" / "console"


class Served(Protocol):
    """Something with a console."""

    @property
    def url(self) -> str:
        """Where it answers."""


@contextmanager
def browser(script: str, console: Served, token: str, **given: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a script of console/browser; the token is not in its command line."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "CONSOLE": console.url, "TOKEN": token, "PICTURES": str(PICTURES), **given}
    process = subprocess.Popen(
        ["node", str(SCRIPTS / f"{script}.mjs")],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def go_on(process: "subprocess.Popen[str]", reached: str) -> None:
    """Wait for a step of the script; it has time limits of its own."""
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline().strip()
    assert line == reached, process.stderr.read()


def steps(process: "subprocess.Popen[str]") -> Iterator[str]:
    """What the script says, step by step, until it is done."""
    assert process.stdout is not None
    assert process.stderr is not None
    line = ""
    for line in process.stdout:
        if line.strip() == "done":
            return
        yield line
    raise AssertionError(f"after {line!r}: {process.stderr.read()}")


def tell(process: "subprocess.Popen[str]", words: str = "go") -> None:
    """Let the script go on."""
    assert process.stdin is not None
    process.stdin.write(f"{words}\n")
    process.stdin.flush()
