"""Scripts that drive a browser, and how a test and a script wait for each other."""

import asyncio
import os
import subprocess
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from harness.drivers.console_process import ConsoleProcess

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "console" / "browser"
PICTURES = ROOT / "build" / "screenshots" / "console"


@contextmanager
def browser(script: str, console: ConsoleProcess, token: str, **given: str) -> Iterator["subprocess.Popen[str]"]:
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


@asynccontextmanager
async def running(script: str, seconds: float, **given: str) -> AsyncIterator[Process]:
    """Run a script of console/browser for a console in this event loop, with a time limit."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        "node",
        str(SCRIPTS / f"{script}.mjs"),
        env={**os.environ, "PICTURES": str(PICTURES), **given},
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
    )
    try:
        async with asyncio.timeout(seconds):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()  # a pipe that is open when the loop ends is a warning in whichever test comes next


def go_on(process: "subprocess.Popen[str]", reached: str) -> None:
    """Wait for a step of the script; it has time limits of its own."""
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline().strip()
    assert line == reached, process.stderr.read()


def tell(process: "subprocess.Popen[str]") -> None:
    """Let the script go on."""
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()
