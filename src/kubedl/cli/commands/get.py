"""`kubedl get`."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from kubedl.cli.completing import JobName
from kubedl.cli.settings import Settings, declare

if TYPE_CHECKING:
    from kubedl.client import Event, Job, Replica, TrainingClient


@declare("get", short_help="Show one job")
@click.argument("name", metavar="JOB", type=JobName())
@click.option("-e", "--events", "with_events", is_flag=True, help="All events, also those of its pods.")
@click.option("--all", "all_replicas", is_flag=True, help="A row for every replica; by default like ones are folded.")
@click.option("-o", "--output", type=click.Choice(("json", "yaml", "name")), help="The object itself, to apply again.")
def command(settings: Settings, name: str, with_events: bool, all_replicas: bool, output: str | None) -> None:
    """Show a job: its replicas, what it waits for, and what happened. JOB may be KIND/NAME, or the name of a pod."""
    with settings.client() as client:
        job = client.get_job(name)
        if output == "name":
            click.echo(str(job))
        elif output:
            from kubedl.cli.structured import applicable, print_object

            print_object(applicable(job.manifest), output)
        else:
            _show(settings, client, job, with_events=with_events, all_replicas=all_replicas)


def _show(settings: Settings, client: "TrainingClient", job: "Job", *, with_events: bool, all_replicas: bool) -> None:
    from kubedl.cli import job_page
    from kubedl.client import Forbidden

    now, terminal = datetime.now(UTC), settings.terminal()
    replicas: list[Replica] = []
    events: list[Event] = []
    denied = ""
    try:
        replicas = client.get_job_pods(job)
        denied = "events"
        events = client.get_job_events(job, replicas if with_events else ())
    except Forbidden as error:
        denied = f"{denied or 'pods'}: not allowed ({error.why})"
    else:
        denied = ""
    lines = job_page.summary(terminal, job, now)
    lines += job_page.replica_rows(terminal, replicas, now, fold=not all_replicas)
    lines += job_page.history(terminal, job, events, now, limit=None if with_events else job_page.SHOWN_EVENTS)
    for line in lines:
        terminal.write(line)
    if denied:
        click.echo(denied, err=True)
