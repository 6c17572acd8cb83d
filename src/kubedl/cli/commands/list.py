"""`kubedl list`."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from kubedl.cli.durations import Duration, age
from kubedl.cli.settings import Settings, declare
from kubedl.cli.table import Column, render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubedl.client import JobSummary

UNSEEN = "no operator has seen the job yet"
FORMATS = ("wide", "json", "yaml", "name")


@declare("list", short_help="List jobs, newest first")
@click.option("-A", "--all-namespaces", is_flag=True, help="Jobs of all namespaces.")
@click.option("-T", "--type", "kind", metavar="KIND", help="Jobs of one kind: pytorch, tf, mpi, …")
@click.option("--state", metavar="STATE[,STATE]", default="", help="Jobs in these states, such as running,failed.")
@click.option("--queue", metavar="NAME", help="Jobs of one queue.")
@click.option("--since", type=Duration(), metavar="DURATION", help="Jobs created at most this long ago, such as 2d.")
@click.option("--finished", is_flag=True, help="Jobs that have ended.")
@click.option("-l", "--selector", metavar="LABELS", help="Jobs with these labels, as kubectl selects them.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="The newest N jobs.")
@click.option("--no-headers", is_flag=True, help="Rows only.")
@click.option("-o", "--output", type=click.Choice(FORMATS), help="Another format.")
def command(  # noqa: PLR0913, PLR0917 - a parameter for each flag
    settings: Settings,
    all_namespaces: bool,
    kind: str | None,
    state: str,
    queue: str | None,
    since: int | None,
    finished: bool,
    selector: str | None,
    limit: int | None,
    no_headers: bool,
    output: str | None,
) -> None:
    """List the jobs of all kinds, newest first."""
    states = [word for word in state.split(",") if word] + (["succeeded", "failed"] if finished else [])
    with settings.client() as client:
        jobs = client.list_jobs(
            all_namespaces=all_namespaces, job_kind=kind, states=states, queue=queue, selector=selector
        )
    if since is not None:
        oldest = datetime.now(UTC) - timedelta(seconds=since)
        jobs = [job for job in jobs if job.created >= oldest]
    jobs = jobs[:limit]
    if output in ("json", "yaml"):
        from kubedl.cli.structured import print_list

        print_list(jobs, output)
    elif output == "name":
        click.echo("".join(f"{job.kind.lower()}/{job.name}\n" for job in jobs), nl=False)
    elif jobs:
        print_jobs(settings, jobs, namespaces=all_namespaces, wide=output == "wide", headers=not no_headers)
    else:
        place = "any namespace" if all_namespaces else client.namespace
        click.echo(f"no {'such ' if states or queue or selector or kind or since else ''}jobs in {place}", err=True)


def print_jobs(
    settings: Settings, jobs: "Sequence[JobSummary]", *, namespaces: bool, wide: bool, headers: bool
) -> None:
    """Print a row for each job."""
    now, terminal = datetime.now(UTC), settings.terminal()
    columns = [
        Column("NAME", paint=lambda terminal, text: terminal.paint(text, "bold")),
        Column("KIND"),
        Column("STATE", paint=lambda terminal, text: terminal.state(text)),
        Column("READY"),
        Column("GPUS", right=True, rank=2),
        Column("QUEUE", rank=3),
        Column("AGE", right=True, paint=lambda terminal, text: terminal.paint(text, "dim")),
    ]
    rows = [
        [
            job.name,
            job.word,
            job.state or "-",
            job.ready or "-",
            str(job.gpus) if job.gpus else "-",
            job.queue,
            age((now - job.created).total_seconds()),
            *([str(job.restarts), job.model_version or "-"] if wide else []),
            job.message if job.state else UNSEEN,
        ]
        for job in jobs
    ]
    if wide:
        columns += [Column("RESTARTS", right=True), Column("MODEL-VERSION", rank=1)]
    columns.append(Column("WHAT"))
    if namespaces:
        columns.insert(0, Column("NAMESPACE"))
        rows = [[job.namespace, *row] for job, row in zip(jobs, rows, strict=True)]
    for line in render(terminal, columns, rows, headers=headers):
        terminal.write(line)
