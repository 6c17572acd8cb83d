"""Running another program and reading its answer; a failure shows the command and its words."""

import os
import subprocess
from collections.abc import Mapping

from testbed.errors import TestbedError


def run(
    *command: str, given: str | None = None, timeout: float = 120, environment: Mapping[str, str] | None = None
) -> str:
    """The program's output; an exit code other than 0 is an error."""
    done = attempt(*command, given=given, timeout=timeout, environment=environment)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-4000:]
        raise TestbedError(f"{' '.join(command)} ended with {done.returncode}: {said}")
    return done.stdout


def attempt(
    *command: str, given: str | None = None, timeout: float = 120, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program that may fail; the caller reads its exit code."""
    try:
        return subprocess.run(
            command,
            input=given,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        raise TestbedError(f"{command[0]} is not installed; `make setup` installs what the test bed needs") from error
    except subprocess.TimeoutExpired as error:
        raise TestbedError(f"{' '.join(command)} did not end within {timeout:g} s") from error
