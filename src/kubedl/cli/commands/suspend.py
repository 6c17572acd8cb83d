"""`kubedl suspend`."""

import click

from kubedl.cli.completing import JobName
from kubedl.cli.settings import Settings, declare


@declare("suspend", short_help="Stop its pods and keep the job")
@click.argument("names", metavar="JOB...", nargs=-1, required=True, type=JobName())
def command(settings: Settings, names: tuple[str, ...]) -> None:
    """Suspend jobs: their pods are deleted, and none are created until `kubedl resume`. JOB may be KIND/NAME."""
    with settings.client() as client:
        for name in names:
            job = client.suspend_job(name)
            click.echo(f"{job} suspended in {job.namespace}")
