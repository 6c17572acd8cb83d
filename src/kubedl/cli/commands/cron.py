"""`kubedl cron`: jobs on a schedule."""

from collections.abc import Mapping
from typing import Any

import click

from kubedl.cli.lazy_group import group
from kubedl.cli.rows import FORMATS, condition, name_column, print_objects, print_one, print_rows, since, until
from kubedl.cli.settings import Settings, declare
from kubedl.cli.table import Column

command = group(
    "cron",
    "Jobs that are created at the times of a schedule.",
    __name__,
    {
        "list": "List crons",
        "get": "Show a cron, its runs, and when the next one is",
        "create": "Create a cron: cron create NAME --schedule '0 3 * * *' -- submit KIND …",
        "suspend": "Start no more runs",
        "resume": "Start runs again",
        "run": "Start a run now",
        "delete": "Delete crons and their runs",
    },
    hidden_commands=dict.fromkeys(
        ("tfjob", "tf"), ("kubedl.cli.commands.arena_words:cron_tfjob", "As Arena writes it")
    ),
)
NAMES = click.argument("names", metavar="CRON...", nargs=-1, required=True)


@declare("list", short_help="List crons")
@click.option("-A", "--all-namespaces", is_flag=True, help="Crons of all namespaces.")
@click.option("-o", "--output", type=FORMATS, help="Another format.")
def list_command(settings: Settings, all_namespaces: bool, output: str | None) -> None:
    """List crons: when each ran last, and when it runs next."""
    from kubedl.client.objects import CRONS

    with settings.client() as client:
        found = client.objects.list_all(CRONS, all_namespaces=all_namespaces)
    if output:
        print_objects(found, output, "cron")
        return
    columns = [name_column(), Column("KIND"), Column("SCHEDULE"), Column("ZONE", rank=2), Column("ACTIVE", right=True)]
    columns += [Column("LAST", right=True, rank=1), Column("NEXT", right=True), Column("WHAT")]
    rows = [_row(one) for one in found]
    if all_namespaces:
        columns.insert(0, Column("NAMESPACE"))
        rows = [[one["metadata"]["namespace"], *row] for one, row in zip(found, rows, strict=True)]
    print_rows(settings, columns, rows, f"no crons in {'any namespace' if all_namespaces else client.namespace}")


def _row(cron: Mapping[str, Any]) -> list[str]:
    spec, status = cron["spec"], cron.get("status") or {}
    return [
        cron["metadata"]["name"],
        str(spec["template"]["kind"]),
        str(spec["schedule"]),
        str(spec.get("timeZone") or "UTC"),
        str(len(status.get("active") or ())),
        since(status.get("lastScheduleTime")),
        "-" if spec.get("suspend") else until(status.get("nextScheduleTime")),
        _what(cron),
    ]


def _what(cron: Mapping[str, Any]) -> str:
    ready = condition(cron, "Ready")
    if cron["spec"].get("suspend"):
        return "suspended"
    return str(ready.get("message") or ready.get("reason") or "") if ready.get("status") == "False" else ""


@declare("get", short_help="Show a cron")
@click.argument("name", metavar="CRON")
@click.option("-o", "--output", type=FORMATS, help="The object itself, to apply again.")
def get_command(settings: Settings, name: str, output: str | None) -> None:
    """Show a cron and its runs."""
    from kubedl.cli.terminal import printable
    from kubedl.client.objects import CRONS

    with settings.client() as client:
        cron = client.objects.get(CRONS, name)
    if output:
        print_one(cron, output, "cron")
        return
    terminal, row = settings.terminal(), _row(cron)
    zone, last = f"{row[2]} {row[3]}", f"{row[5]} ago" if row[5] != "-" else "-"
    what = printable(f"{row[1]} at {zone}  next {row[6]}  last {last}  {row[7]}")
    terminal.write(f"{terminal.paint(name, 'bold')}  {what}".rstrip())
    status = cron.get("status") or {}
    rows = [[one["name"], "Active", "-"] for one in status.get("active") or ()]
    ended = reversed(status.get("history") or ())
    rows += [[one["object"]["name"], str(one["status"]), since(one.get("finished"))] for one in ended]
    if rows:
        terminal.write("")
    columns = [name_column("RUN"), Column("STATE", paint=lambda terminal, text: terminal.state(text)), Column("ENDED")]
    print_rows(settings, columns, rows, "no runs yet")


@declare("create", short_help="Create a cron")
@click.argument("name", metavar="NAME")
@click.argument("words", metavar="-- submit KIND [FLAGS] [COMMAND]", nargs=-1, type=click.UNPROCESSED, required=True)
@click.option("--schedule", required=True, metavar="CRON", help="Five fields, such as '0 3 * * *', or @daily.")
@click.option("--time-zone", metavar="ZONE", help="Such as Europe/Berlin; default UTC.")
@click.option("--concurrency-policy", type=click.Choice(("Allow", "Forbid", "Replace")), help="While a run is active.")
@click.option("--suspend", is_flag=True, help="Start no runs yet.")
@click.option("--deadline", metavar="TIME", help="No runs after it, such as 2030-12-31T18:00:00Z.")
@click.option("--history-limit", type=click.IntRange(0), metavar="N", help="Finished runs to keep.")
@click.option("--dry-run", is_flag=True, help="Print the manifest and create nothing.")
@click.option("-o", "--output", type=FORMATS, help="Print the cron.")
def create_command(
    settings: Settings,
    name: str,
    words: tuple[str, ...],
    dry_run: bool,
    output: str | None,
    **policy: Any,  # noqa: ANN401 - the flags of the schedule
) -> None:
    """Create a cron from the words of `submit`, without --name: runs are named after the cron."""
    from kubedl.cli.submit.nested import manifest_of_words
    from kubedl.client.objects import CRONS

    job = manifest_of_words(words, name)
    metadata = {key: value for key, value in job["metadata"].items() if key != "name"}
    workload = ({"metadata": metadata} if metadata else {}) | {"spec": job["spec"]}
    names = {
        "time_zone": "timeZone",
        "concurrency_policy": "concurrencyPolicy",
        "history_limit": "historyLimit",
    }
    spec = {names.get(key, key): value for key, value in policy.items() if value not in (None, False)}
    template = {"apiVersion": job["apiVersion"], "kind": job["kind"], "workload": workload}
    body = {
        "apiVersion": CRONS.group,
        "kind": "Cron",
        "metadata": {"name": name},
        "spec": {**spec, "template": template},
    }
    if dry_run:
        print_one(body, output or "yaml", "cron")
        return
    with settings.client() as client:
        made = client.objects.create(CRONS, body)
    if output:
        print_one(made, output, "cron")
    else:
        click.echo(f"cron/{name} created in {made['metadata']['namespace']}")


@declare("suspend", short_help="Start no more runs")
@NAMES
def suspend_command(settings: Settings, names: tuple[str, ...]) -> None:
    """Start no more runs; those that were started go on."""
    _set_suspend(settings, names, value=True)


@declare("resume", short_help="Start runs again")
@NAMES
def resume_command(settings: Settings, names: tuple[str, ...]) -> None:
    """Start runs again, from the next time of the schedule."""
    _set_suspend(settings, names, value=False)


def _set_suspend(settings: Settings, names: tuple[str, ...], *, value: bool) -> None:
    with settings.client() as client:
        for name in names:
            (client.crons.suspend if value else client.crons.resume)(name)
            click.echo(f"cron/{name} {'suspended' if value else 'resumed'} in {client.namespace}")


@declare("run", short_help="Start a run now")
@click.argument("name", metavar="CRON")
@click.option("--name", "run_name", metavar="NAME", help="Name of the job; by default that of the cron and a number.")
def run_command(settings: Settings, name: str, run_name: str | None) -> None:
    """Create a job from the template of a cron, now. The schedule is not affected."""
    with settings.client() as client:
        job = client.crons.run(name, run_name=run_name)
    click.echo(f"{job} created in {job.namespace}")


@declare("delete", short_help="Delete crons")
@NAMES
def delete_command(settings: Settings, names: tuple[str, ...]) -> None:
    """Delete crons, and with them their runs."""
    from kubedl.client.objects import CRONS

    with settings.client() as client:
        for name in names:
            client.objects.delete(CRONS, name)
            click.echo(f"cron/{name} deleted from {client.namespace}")
