"""Running a build's programs so that they end with the build.

Each runs in mount and process namespaces of its own, which the kernel takes down when the builder
dies, by whatever signal: nothing stays mounted, and no orphan writes into a later build's files.
"""

from testbed.shell import run

_NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")


def run_isolated(*command: str, environment: dict[str, str] | None = None, timeout: float = 1800) -> str:
    """The program's output; an exit code other than 0 is an error."""
    variables = [f"{name}={value}" for name, value in (environment or {}).items()]
    return run("setpriv", "--pdeathsig=KILL", *_NAMESPACES, "env", *variables, *command, timeout=timeout)
