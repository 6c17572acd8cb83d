"""`kubedl events`."""

from datetime import UTC, datetime

import click

from kubedl.cli.completing import JobName
from kubedl.cli.durations import age
from kubedl.cli.settings import Settings, declare
from kubedl.cli.table import Column, render


@declare("events", short_help="Show what happened to a job and its pods")
@click.argument("name", metavar="JOB", type=JobName())
@click.option("--no-headers", is_flag=True, help="Rows only.")
def command(settings: Settings, name: str, no_headers: bool) -> None:
    """Show what happened to a job and its pods, oldest first. Servers keep events for about an hour."""
    with settings.client() as client:
        job = client.get_job(name)
        events = client.get_job_events(job, client.get_job_pods(job))
    terminal, now = settings.terminal(), datetime.now(UTC)
    columns = [Column("AGE", right=True), Column("TYPE", rank=1), Column("OBJECT"), Column("REASON"), Column("MESSAGE")]
    rows = [
        [
            age((now - event.time).total_seconds()) if event.time is not None else "-",
            event.type,
            event.involved_object.name,
            event.reason,
            (event.message or "") + (f" ({event.count} times)" if event.count and event.count > 1 else ""),
        ]
        for event in events
    ]
    if not rows:
        click.echo(f"no events of {job}: servers keep them for about an hour", err=True)
        return
    for line in render(terminal, columns, rows, headers=not no_headers):
        terminal.write(line)
