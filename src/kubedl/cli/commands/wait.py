"""`kubedl wait`."""

import click

from kubedl.cli.completing import JobName
from kubedl.cli.durations import Duration
from kubedl.cli.settings import Settings, declare


@declare("wait", short_help="Wait for a state")
@click.argument("names", metavar="JOB...", nargs=-1, required=True, type=JobName())
@click.option(
    "--for",
    "state",
    metavar="STATE",
    default="complete",
    help="complete (the default), running, ready, deleted, model (its image exists), or a condition such as Failed.",
)
@click.option("--timeout", type=Duration(), metavar="DURATION", help="How long to wait, such as 30m; exit code 124.")
@click.option("--any", "any_of", is_flag=True, help="Return at the first of several jobs; by default at the last.")
@click.option("-o", "--output", type=click.Choice(("json", "yaml")), help="Print how the jobs ended, with exit codes.")
def command(
    settings: Settings, names: tuple[str, ...], state: str, timeout: int | None, any_of: bool, output: str | None
) -> int:
    """Wait until jobs are in a state.

    The exit code is that of the replica that failed first; 1 if no container has one, 124 after the timeout, 125 if
    kubedl itself failed, 130 after Ctrl-C. Of several jobs it is the highest.
    """
    from kubedl.cli.following import Waited, wait_for_all

    return wait_for_all(settings, names, Waited(state.removeprefix("condition="), timeout, any_of, output or ""))
