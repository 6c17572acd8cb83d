"""`kubedl prune`."""

import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from kubedl.cli.durations import Duration, age
from kubedl.cli.settings import Settings, declare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubedl.client.pruning import Prunable

STATES = ("succeeded", "failed")


@declare("prune", short_help="Delete what has ended")
@click.option(
    "--older-than", type=Duration(), default="7d", metavar="DURATION", help="Jobs that ended so long ago; default 7d."
)
@click.option("--state", type=click.Choice(STATES, case_sensitive=False), help="Only jobs that ended so.")
@click.option("-l", "--selector", metavar="LABELS", help="Only jobs with these labels; files are then left alone.")
@click.option("-A", "--all-namespaces", is_flag=True, help="In all namespaces.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Delete nothing: list what would be deleted.")
@click.option("-o", "--output", type=click.Choice(("json", "yaml", "name")), help="Another format.")
def command(  # noqa: PLR0913, PLR0917 - a parameter for each flag
    settings: Settings,
    older_than: int,
    state: str | None,
    selector: str | None,
    all_namespaces: bool,
    yes: bool,
    dry_run: bool,
    output: str | None,
) -> None:
    """Delete jobs that ended some time ago, with their pods, and code that was sent for jobs which are gone.

    Runs of a cron are left to its --history-limit. Code is deleted when nobody has owned it for an hour and no job
    mounts it.
    """
    with settings.client() as client:
        found = client.prunable(
            older_than=timedelta(seconds=older_than),
            states=(state.lower(),) if state else STATES,
            selector=selector,
            all_namespaces=all_namespaces,
        )
        place = "any namespace" if all_namespaces else client.namespace
        if dry_run or not found:
            _list(settings, found, output, f"nothing to delete in {place}")
            return
        if not yes:
            _ask(settings, found)
        gone = [one for one in found if client.prune(one)]
        if output:
            _list(settings, gone, output, "")
            return
        for one in gone:
            click.echo(f"{one} deleted from {one.namespace}")


def _ask(settings: Settings, found: "Sequence[Prunable]") -> None:
    if not sys.stdin.isatty():
        raise click.UsageError(f"{_counted(found)} would be deleted\nnext  add -y, or --dry-run to see them")
    _list(settings, found, None, "")
    click.confirm(f"Delete {_counted(found)}?", abort=True, err=True)


def _counted(found: "Sequence[Prunable]") -> str:
    jobs = sum(one.kind != "ConfigMap" for one in found)
    files = len(found) - jobs
    parts = [f"{jobs} job{'s' * (jobs != 1)}"] * bool(jobs) + [f"code of {files} job{'s' * (files != 1)}"] * bool(files)
    return " and ".join(parts)


def _list(settings: Settings, found: "Sequence[Prunable]", output: str | None, empty: str) -> None:
    from kubedl.cli.rows import name_column, print_rows
    from kubedl.cli.table import Column

    if output == "name":
        click.echo("".join(f"{one}\n" for one in found), nl=False)
    elif output:
        from kubedl.cli.structured import API_VERSION, print_object

        items = [
            {
                "kind": one.kind,
                "name": one.name,
                "namespace": one.namespace,
                "since": f"{one.since:%Y-%m-%dT%H:%M:%SZ}",
                "why": one.why,
            }
            for one in found
        ]
        print_object({"apiVersion": API_VERSION, "kind": "PrunableList", "items": items}, output)
    else:
        now = datetime.now(UTC)
        columns = [name_column(), Column("NAMESPACE"), Column("SINCE", right=True), Column("WHAT")]
        rows = [[str(one), one.namespace, age((now - one.since).total_seconds()), one.why] for one in found]
        print_rows(settings, columns, rows, empty)
