"""`kubedl serve logs`."""

import click

from kubedl.cli.durations import Duration
from kubedl.cli.settings import Settings, declare


@declare("logs", short_help="Print or follow the logs of a service")
@click.argument("name", metavar="SERVICE")
@click.option("-f", "--follow", is_flag=True, help="Go on, also with servers that come later; Ctrl-C ends it.")
@click.option("--predictor", default="", metavar="NAME", help="Servers of one predictor.")
@click.option("-c", "--container", default="", metavar="NAME", help="Container; by default the pod's first.")
@click.option("--tail", type=click.IntRange(0), metavar="N", help="The last N lines of each server.")
@click.option("--since", type=Duration(), metavar="DURATION", help="Lines at most this old, such as 10m.")
@click.option("--timestamps", is_flag=True, help="Print when each line was written.")
@click.option("-p", "--previous", is_flag=True, help="The container that ran before, in the same pod.")
def command(  # noqa: PLR0913, PLR0917 - a parameter for each flag
    settings: Settings,
    name: str,
    follow: bool,
    predictor: str,
    container: str,
    tail: int | None,
    since: int | None,
    timestamps: bool,
    previous: bool,
) -> int:
    """Print the logs of all servers of a service, each line behind its predictor and the end of its pod's name."""
    from kubedl.cli.failures import INTERRUPTED
    from kubedl.cli.log_printer import LogPrinter
    from kubedl.client.log_reader import LogOptions

    if follow and previous:
        raise click.UsageError("--previous has ended and cannot be followed")
    printer = LogPrinter(settings.terminal(), timestamps=timestamps)
    options = LogOptions(container, tail, since, previous)
    with settings.client() as client:
        logs = client.service_logs(name, predictor, follow=follow, options=options, on_note=printer.note)
        try:
            for line in logs:
                printer.write(line, at_once=follow)
        except KeyboardInterrupt:
            return INTERRUPTED
    return 0
