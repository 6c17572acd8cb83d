"""`kubedl scale`."""

import sys

import click

from kubedl.cli.completing import JobName
from kubedl.cli.settings import Settings, declare


@declare("scale", short_help="Change the number of workers")
@click.argument("name", metavar="JOB", type=JobName())
@click.option(
    "--workers", type=click.IntRange(0, 10_000), required=True, metavar="N", help="Workers, as submit counts."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask, although pods that run start anew.")
def command(settings: Settings, name: str, workers: int, yes: bool) -> None:
    """Change the number of workers of a job. One that runs and is not elastic is suspended, changed and resumed."""
    from kubedl.client import scaling

    with settings.client() as client:
        job = client.get_job(name)
        if not yes and not scaling.is_in_place(job):
            if not sys.stdin.isatty():
                raise click.UsageError(f"{job.name} runs, and its pods would start anew\nnext  add -y")
            click.confirm(f"The pods of {job.name} start anew. Go on?", abort=True, err=True)
        changed = client.scale_job(f"{job.word}/{job.name}", workers=workers)
    click.echo(f"{changed} has {workers} workers{' when it is resumed' if changed.spec.get('suspend') else ''}")
