"""`kubedl history`: jobs that ended, also those that were deleted, from the database of the recorder."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from kubedl.cli.durations import Duration, age, precise
from kubedl.cli.history_database import history, options
from kubedl.cli.lazy_group import group
from kubedl.cli.rows import name_column, print_rows
from kubedl.cli.settings import Settings, declare
from kubedl.cli.table import Column

if TYPE_CHECKING:
    from kubedl.history.queries.answers import JobSummary

command = group(
    "history",
    "Jobs that have ended or were deleted, from the database of the recorder.",
    __name__,
    {
        "list": "List jobs, newest first",
        "get": "Show a job with its pods and events",
        "logs": "Print archived logs, also of pods that are gone",
        "stats": "Count jobs and GPUs by user, queue, kind, state or day",
        "receipt": "Show what a job used and cost",
    },
    elsewhere={"logs": "kubedl.cli.commands.history_logs"},
)
GROUPS = ("user", "namespace", "kind", "queue", "state", "day")


@declare("list", short_help="List jobs of the history")
@click.option("-A", "--all-namespaces", is_flag=True, help="Jobs of all namespaces.")
@click.option("-T", "--type", "kind", default="", metavar="KIND", help="Jobs of one kind, such as PyTorchJob.")
@click.option("--state", default="", metavar="STATE", help="Jobs in a state, such as Failed.")
@click.option("--queue", default="", metavar="NAME", help="Jobs of one queue.")
@click.option("--by", "owner", default="", metavar="USER", help="Jobs of one user.")
@click.option("--since", type=Duration(), metavar="DURATION", help="Jobs created at most this long ago, such as 7d.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, metavar="N", help="Rows; default 50.")
@options
def list_command(  # noqa: PLR0913, PLR0917 - a parameter for each flag
    settings: Settings,
    all_namespaces: bool,
    kind: str,
    state: str,
    queue: str,
    owner: str,
    since: int | None,
    limit: int,
    database_file: str | None,
    history_cluster: str | None,
) -> None:
    """List jobs, newest first; those that were deleted too."""
    page = history(settings, database_file, history_cluster, all_namespaces=all_namespaces).list(
        all_namespaces=all_namespaces,
        kind=kind,
        state=state,
        queue=queue,
        user=owner,
        since=timedelta(seconds=since) if since is not None else None,
        limit=limit,
    )
    columns = [name_column(), Column("KIND"), Column("STATE", paint=lambda terminal, text: terminal.state(text))]
    columns += [
        Column("CREATED"),
        Column("RAN", right=True),
        Column("GPUS", right=True, rank=1),
        Column("USER", rank=2),
    ]
    rows = [_row(job) for job in page.jobs]
    if all_namespaces:
        columns.insert(0, Column("NAMESPACE"))
        rows = [[job.namespace, *row] for job, row in zip(page.jobs, rows, strict=True)]
    print_rows(settings, [*columns, Column("WHAT")], rows, "the history has no such jobs")
    if page.next:
        click.echo(f"there are more: --limit {min(500, 2 * limit)}, or --since", err=True)


def _row(job: "JobSummary") -> list[str]:
    ran = precise((job.finished - job.started).total_seconds()) if job.finished and job.started else "-"
    gone = f", deleted {age((datetime.now(UTC) - job.deleted).total_seconds())} ago" if job.deleted else ""
    return [
        job.name,
        job.kind.lower().removesuffix("job"),
        job.state or "-",
        f"{job.created:%Y-%m-%d %H:%M}",
        ran,
        str(job.gpus or "-"),
        job.user_name or "-",
        f"{job.reason}{gone}".removeprefix(", "),
    ]


@declare("get", short_help="Show a job of the history")
@click.argument("name", metavar="JOB")
@options
def get_command(settings: Settings, name: str, database_file: str | None, history_cluster: str | None) -> None:
    """Show the newest job of a name: how it ended, its pods, and what happened."""
    from kubedl.cli.terminal import printable

    detail = history(settings, database_file, history_cluster).get(name.rpartition("/")[2])
    terminal, row = settings.terminal(), _row(detail.job)
    parts = [
        f"{detail.job.kind} in {detail.job.namespace}",
        terminal.state(row[2]),
        f"created {row[3]}",
        f"ran {row[4]}",
    ]
    by = [f"by {printable(row[6])}"] if row[6] != "-" else []
    terminal.write("  ".join([terminal.paint(name, "bold"), *parts, *by]))
    if row[7]:
        terminal.write(f"  {printable(row[7])}")
    rows = [
        [f"{pod.role.lower()}-{pod.replica_index}", pod.phase, str(pod.attempt), pod.node or "-", _code(pod.exit_code)]
        for pod in detail.pods
    ]
    terminal.write("")
    columns = [name_column("REPLICA"), Column("STATE"), Column("ATTEMPT", right=True), Column("NODE"), Column("EXIT")]
    print_rows(settings, columns, rows, "no pods are recorded")
    for event in detail.events:
        what = printable(f"{event.object_name}  {event.reason}: {event.message}")
        terminal.write(f"{event.last_seen:%m-%d %H:%M:%S}  {what}")


def _code(code: int | None) -> str:
    return "-" if code is None else str(code)


@declare("stats", short_help="Count jobs")
@click.option("--per", type=click.Choice(GROUPS), multiple=True, help="What to count by; may be repeated.")
@click.option("--since", type=Duration(), default="30d", metavar="DURATION", help="From when; default 30d.")
@options
def stats_command(
    settings: Settings, per: Sequence[str], since: int, database_file: str | None, history_cluster: str | None
) -> None:
    """Count the jobs that were created, and the GPUs that they asked for, in all namespaces."""
    by = list(per) or ["state"]
    known = history(settings, database_file, history_cluster, all_namespaces=True)
    found = known.statistics(by, since=timedelta(seconds=since))
    columns = [*(Column(one.upper()) for one in by), Column("JOBS", right=True), Column("GPUS", right=True)]
    rows = [[*row.group, str(row.jobs), str(row.gpus)] for row in found]
    print_rows(settings, columns, rows, "the history has no jobs of that time")


@declare("receipt", short_help="What a job used and cost")
@click.argument("name", metavar="JOB")
@options
def receipt_command(settings: Settings, name: str, database_file: str | None, history_cluster: str | None) -> None:
    """Show what the newest job of a name used and cost."""
    receipt = history(settings, database_file, history_cluster).receipt(name.rpartition("/")[2])
    facts = {
        "waited": precise(receipt.waiting_seconds),
        "ran": precise(receipt.running_seconds),
        "again": f"{precise(receipt.restarted_seconds)} after restarts, {precise(receipt.lost_seconds)} lost",
        "GPU": f"{receipt.gpu_seconds / 3600:.2f} hours",
        "CPU": f"{receipt.cpu_seconds / 3600:.2f} hours",
        "memory": f"{receipt.memory_gib_seconds / 3600:.2f} GiB hours",
    }
    if receipt.currency:
        facts["cost"] = f"{receipt.cost_micros / 1e6:.2f} {receipt.currency} (price book {receipt.price_book})"
    terminal = settings.terminal()
    for word, value in facts.items():
        terminal.write(f"{terminal.paint(f'{word:7}', 'dim')}  {value}")
