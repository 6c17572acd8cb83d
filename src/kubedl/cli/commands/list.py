"""`kubedl list`."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from kubedl.cli.durations import Duration
from kubedl.cli.history_database import database, options
from kubedl.cli.settings import Settings, declare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubedl.cli.job_rows import Nodes
    from kubedl.client import JobSummary, TrainingClient
    from kubedl.client.history_database import HistoryDatabase
    from kubedl.client.job_list import JobSelection

FORMATS = ("wide", "json", "yaml", "name")
ENDED = ("succeeded", "failed")


@declare("list", short_help="List jobs, newest first")
@click.option("-A", "--all-namespaces", is_flag=True, help="Jobs of all namespaces.")
@click.option("-T", "--type", "kind", metavar="KIND", help="Jobs of one kind: pytorch, tf, mpi, …")
@click.option("--state", metavar="STATE[,STATE]", default="", help="Jobs in these states, such as running,failed.")
@click.option("--queue", metavar="NAME", help="Jobs of one queue.")
@click.option("--by", "owner", metavar="USER", help="Jobs that a user submitted, as far as they say so.")
@click.option("--mine", is_flag=True, help="Jobs that you submitted.")
@click.option("--since", type=Duration(), metavar="DURATION", help="Jobs created at most this long ago, such as 2d.")
@click.option("--finished", is_flag=True, help="Jobs that have ended.")
@click.option("-l", "--selector", metavar="LABELS", help="Jobs with these labels, as kubectl selects them.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="The newest N jobs.")
@click.option("-w", "--watch", is_flag=True, help="Go on, with a row for each change, until Ctrl-C.")
@click.option("--history", is_flag=True, help="Jobs that were deleted too, from the history; they are marked gone.")
@click.option("--no-headers", is_flag=True, help="Rows only.")
@click.option("-o", "--output", type=click.Choice(FORMATS), help="Another format; with -w, json is a line for each.")
@options
def command(  # noqa: PLR0913, PLR0917 - a parameter for each flag
    settings: Settings,
    all_namespaces: bool,
    kind: str | None,
    state: str,
    queue: str | None,
    owner: str | None,
    mine: bool,
    since: int | None,
    finished: bool,
    selector: str | None,
    limit: int | None,
    watch: bool,
    history: bool,
    no_headers: bool,
    output: str | None,
    database_file: str | None,
    history_cluster: str | None,
) -> None:
    """List the jobs of all kinds, newest first. --user is the user of the kubeconfig; --by chooses by who submitted."""
    _check(watch=watch, history=history, limit=limit, selector=selector, output=output, by=owner, mine=mine)
    from kubedl.client.job_list import JobSelection

    states = [word for word in state.split(",") if word] + (list(ENDED) if finished else [])
    oldest = datetime.now(UTC) - timedelta(seconds=since) if since is not None else None
    with settings.client() as client:
        place = "" if all_namespaces else client.namespace
        chosen = JobSelection(place, kind, states, queue, client.whoami()[0] if mine else owner, selector)
        if watch:
            from kubedl.cli.watched_list import print_changes

            print_changes(settings, client.watch_jobs(chosen), oldest, place, output or "", headers=not no_headers)
            return
        jobs = client.select_jobs(chosen)
        jobs = [job for job in jobs if oldest is None or job.created >= oldest]
        if history:
            jobs = _with_gone(client, jobs, chosen, oldest, limit, database(database_file, history_cluster))
        jobs = jobs[:limit]
        nodes = _nodes(client, place) if output == "wide" and jobs else {}
    if jobs or output in ("json", "yaml"):
        _print(settings, jobs, nodes, place, output or "", headers=not no_headers)
    else:
        such = "such " if states or queue or selector or kind or oldest or chosen.user else ""
        click.echo(f"no {such}jobs in {place or 'any namespace'}", err=True)


def _check(
    *,
    watch: bool,
    history: bool,
    limit: int | None,
    selector: str | None,
    output: str | None,
    by: str | None,
    mine: bool,
) -> None:
    """Refuse flags that do not go together: none is ignored."""
    if watch and (history or limit is not None or output == "yaml"):
        word = "--history" if history else "--limit" if limit is not None else "-o yaml"
        raise click.UsageError(f"{word} cannot be watched\nnext  leave out {word}, or -w")
    if history and selector:
        raise click.UsageError("-l with --history: the history keeps no labels\nnext  -T, --state, --queue or --by")
    if by and mine:
        raise click.UsageError("--by and --mine are two users\nnext  one of them")


def _with_gone(
    client: "TrainingClient",
    jobs: "list[JobSummary]",
    wanted: "JobSelection",
    oldest: datetime | None,
    limit: int | None,
    place: "HistoryDatabase",
) -> "list[JobSummary]":
    """Return jobs together with those that were deleted."""
    from kubedl.client.blocking import run
    from kubedl.client.gone_jobs import list_gone
    from kubedl.client.history_operations import HistoryOperations, here
    from kubedl.client.job_list import newest_first

    kind = client.kind(wanted.job_kind).kind if wanted.job_kind else ""
    history = HistoryOperations(here, place, client.namespace)
    found, more = run(list_gone(history, wanted, kind, oldest, limit))
    there = {job.uid for job in jobs}
    if more and limit is None:
        click.echo("the history has more: --limit, --since or --state choose among them", err=True)
    return newest_first([*jobs, *(job for job in found if job.uid not in there)])


def _nodes(client: "TrainingClient", place: str) -> "Nodes":
    from kubedl.client import Forbidden

    try:
        return client.get_nodes_of_jobs(namespace=place, all_namespaces=not place)
    except Forbidden as error:
        click.echo(f"pods: not allowed, so nodes are not shown ({error.why})", err=True)
        return {}


def _print(
    settings: Settings, jobs: "Sequence[JobSummary]", nodes: "Nodes", place: str, output: str, *, headers: bool
) -> None:
    if output in ("json", "yaml"):
        from kubedl.cli.structured import print_list

        print_list(jobs, output)
        return
    if output == "name":
        click.echo("".join(f"{job.kind.lower()}/{job.name}\n" for job in jobs), nl=False)
        return
    from kubedl.cli import job_rows
    from kubedl.cli.table import render

    now, terminal, wide = datetime.now(UTC), settings.terminal(), output == "wide"
    columns = job_rows.columns(namespaces=not place, wide=wide)
    rows = [job_rows.row(job, now, namespaces=not place, wide=wide, nodes=nodes) for job in jobs]
    for line in render(terminal, columns, rows, headers=headers):
        terminal.write(line)
