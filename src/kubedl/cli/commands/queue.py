"""`kubedl queue`: queues of Kueue."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from kubedl.cli.durations import age
from kubedl.cli.lazy_group import group
from kubedl.cli.quantities import shown
from kubedl.cli.rows import FORMATS, name_column, print_objects, print_rows
from kubedl.cli.settings import Settings, declare
from kubedl.cli.table import Column

if TYPE_CHECKING:
    from kubedl.client import Queue, QueuedJob

command = group(
    "queue",
    "Queues of Kueue: what they have, who uses it, and who waits.",
    __name__,
    {"list": "List the queues of the namespace", "get": "Show who is in a queue, and who is before whom"},
)
GPUS = ("nvidia.com/gpu", "amd.com/gpu")


@declare("list", short_help="List queues")
@click.option("-A", "--all-namespaces", is_flag=True, help="Queues of all namespaces.")
@click.option("-o", "--output", type=FORMATS, help="Another format.")
def list_command(settings: Settings, all_namespaces: bool, output: str | None) -> None:
    """List queues: what is used of their quota, how many jobs run and wait, and the longest wait."""
    with settings.client() as client:
        queues = client.queues.list(all_namespaces=all_namespaces)
    if output:
        print_objects([one.manifest for one in queues], output, "localqueue")
        return
    hidden = next((one.hidden for one in queues if one.hidden), "")
    if hidden:
        click.echo(f"cluster queues: not allowed, so quota is not shown ({hidden})", err=True)
    columns = [name_column("QUEUE"), Column("GPU", right=True), Column("CPU", right=True), Column("MEMORY", right=True)]
    columns += [Column("RUNNING", right=True), Column("WAITING", right=True), Column("LONGEST", right=True, rank=1)]
    rows = [_row(one) for one in queues]
    place = "any namespace" if all_namespaces else client.namespace
    print_rows(settings, [*columns, Column("WHAT")], rows, f"no queues in {place} (Kueue's LocalQueues)")


def _row(queue: "Queue") -> list[str]:
    cells = [_share(queue.used or {}, queue.quota or {}, names) for names in (GPUS, ("cpu",), ("memory",))]
    longest = _passed(queue.waiting_since)
    return [queue.name, *cells, str(queue.running), str(queue.waiting), longest, queue.message]


def _passed(moment: datetime | None) -> str:
    return age((datetime.now(UTC) - moment).total_seconds()) if moment is not None else "-"


def _share(used: Mapping[str, float], quota: Mapping[str, float], names: Iterable[str]) -> str:
    known = [name for name in names if name in quota]
    if not known:
        return "-"
    total, taken = sum(quota[name] for name in known), sum(used.get(name, 0.0) for name in known)
    return shown(known[0], taken, total)


@declare("get", short_help="Show who is in a queue")
@click.argument("name", metavar="QUEUE")
@click.option("-o", "--output", type=FORMATS, help="Its Workloads, for programs.")
def get_command(settings: Settings, name: str, output: str | None) -> None:
    """Show the line of a queue: who runs, then who waits, in the order in which Kueue tries them.

    The order is priority, then time; with several namespaces in one ClusterQueue, others may be between.
    """
    with settings.client() as client:
        queue = client.queues.get(name)
    if output:
        print_objects([one.manifest for one in queue.jobs], output, "workload")
        return
    columns = [
        Column("#", right=True),
        name_column("JOB"),
        Column("STATE"),
        Column("WANTS"),
        Column("PRIORITY", rank=1),
    ]
    columns += [Column("SINCE", right=True), Column("WHAT")]
    print_rows(settings, columns, [_line(one) for one in queue.jobs], f"nobody is in {name}")


def _line(one: "QueuedJob") -> list[str]:
    place, state = ("-", "Running") if one.place is None else (str(one.place), "Waiting")
    priority = one.priority_class or str(one.priority or "-")
    return [place, one.job, state, _wants(one.wants), priority, _passed(one.created), one.message]


def _wants(wants: Mapping[str, float]) -> str:
    names = sorted(wants, key=lambda one: (one not in GPUS, one))
    return ", ".join(f"{shown(name, wants[name])} {'GPU' if name in GPUS else name}" for name in names) or "-"
