"""`kubedl logs`."""

from typing import TYPE_CHECKING

import click

from kubedl.cli.completing import JobName
from kubedl.cli.durations import Duration
from kubedl.cli.settings import Settings, declare

if TYPE_CHECKING:
    from kubedl.cli.log_printer import LogPrinter
    from kubedl.client.log_reader import LogOptions


@declare("logs", short_help="Print or follow logs")
@click.argument("name", metavar="JOB", type=JobName())
@click.option("-f", "--follow", is_flag=True, help="Wait for pods, go on until the job ends, end with its exit code.")
@click.option("-i", "--replica", "wanted", multiple=True, metavar="REPLICA", help="worker-0, or worker for all.")
@click.option("-c", "--container", default="", metavar="NAME", help="Container; by default the pod's first.")
@click.option("--tail", type=click.IntRange(0), metavar="N", help="The last N lines of each replica.")
@click.option("--since", type=Duration(), metavar="DURATION", help="Lines at most this old, such as 10m.")
@click.option("--timestamps", is_flag=True, help="Print when each line was written.")
@click.option("-p", "--previous", is_flag=True, help="The container that ran before, in the same pod.")
@click.option("-o", "--output", type=click.Choice(("json",)), help="An object for each line.")
def command(  # noqa: PLR0913, PLR0917 - a parameter for each flag
    settings: Settings,
    name: str,
    follow: bool,
    wanted: tuple[str, ...],
    container: str,
    tail: int | None,
    since: int | None,
    timestamps: bool,
    previous: bool,
    output: str | None,
) -> int:
    """Print the logs of all replicas. JOB may be KIND/NAME, or the name of one pod."""
    from kubedl.client.log_reader import LogOptions

    if follow and previous:
        raise click.UsageError("--previous has ended and cannot be followed")
    options = LogOptions(container, tail, since, previous)
    from kubedl.cli.log_printer import JsonPrinter, LogPrinter

    terminal = settings.terminal()
    printer = JsonPrinter(terminal) if output else LogPrinter(terminal, timestamps=timestamps)
    return (_follow if follow else _print)(settings, name, wanted, options, printer)


def _print(settings: Settings, name: str, wanted: tuple[str, ...], options: "LogOptions", printer: "LogPrinter") -> int:
    with settings.client() as client:
        for line in client.get_job_logs(name, wanted=wanted, options=options, on_note=printer.note):
            printer.write(line)
    return 0


def _follow(
    settings: Settings, name: str, wanted: tuple[str, ...], options: "LogOptions", printer: "LogPrinter"
) -> int:
    from kubedl.cli import failures, following

    def run() -> None:
        with settings.client() as client:
            follower = client.follow_job_logs(name, wanted=wanted, options=options, on_note=printer.note)
            for line in follower:
                printer.write(line, at_once=True)
            following.tell_end(client, follower.job)

    try:
        return failures.code_of_job(run)
    except KeyboardInterrupt:
        return following.detached([name])
