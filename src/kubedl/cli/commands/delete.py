"""`kubedl delete`."""

import click

from kubedl.cli.completing import JobName
from kubedl.cli.settings import Settings, declare


@declare("delete", short_help="Delete jobs")
@click.argument("names", metavar="JOB...", nargs=-1, required=True, type=JobName())
@click.option("--ignore-not-found", is_flag=True, help="A job that does not exist is no error.")
@click.option("-o", "--output", type=click.Choice(("name",)), help="Print names only.")
def command(settings: Settings, names: tuple[str, ...], ignore_not_found: bool, output: str | None) -> None:
    """Delete jobs and their pods. JOB may be KIND/NAME."""
    from kubedl.client import NotFound

    with settings.client() as client:
        for name in names:
            try:
                job = client.delete_job(name)
            except NotFound:
                if ignore_not_found:
                    continue
                raise
            click.echo(str(job) if output else f"{job} deleted from {job.namespace}")
