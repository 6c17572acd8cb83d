"""`kubedl resume`."""

import click

from kubedl.cli.completing import JobName
from kubedl.cli.settings import Settings, declare


@declare("resume", short_help="Start a suspended job")
@click.argument("names", metavar="JOB...", nargs=-1, required=True, type=JobName())
def command(settings: Settings, names: tuple[str, ...]) -> None:
    """Resume suspended jobs. JOB may be KIND/NAME."""
    with settings.client() as client:
        for name in names:
            job = client.resume_job(name)
            click.echo(f"{job} resumed in {job.namespace}")
