"""`kubedl serve`: models that are served."""

from typing import TYPE_CHECKING

import click

from kubedl.cli.lazy_group import group
from kubedl.cli.rows import FORMATS, name_column, print_objects, print_one, print_rows, since
from kubedl.cli.settings import Settings, declare
from kubedl.cli.table import Column

if TYPE_CHECKING:
    from kubedl.client import Predictor, Rollout, Service

command = group(
    "serve",
    "Services: predictors, their shares of the traffic, and rollouts of new versions.",
    __name__,
    {
        "submit": "Serve a model: serve submit mlserver --name flowers --model-version trees-7 …",
        "list": "List services with their predictors",
        "get": "Show a service: predictors, rollout, why it is not ready",
        "logs": "Print or follow the logs of its servers",
        "traffic": "Share the traffic: serve traffic NAME main=70 other=30",
        "next": "Go on to the next step of a rollout",
        "promote": "Let the new version serve everything",
        "abort": "Go back to the version that served before",
        "retry": "Try a version again that was rolled back",
        "scale": "Change the number of servers of a predictor",
        "delete": "Delete services",
    },
    elsewhere={"submit": "kubedl.cli.commands.serve_submit", "logs": "kubedl.cli.commands.serve_logs"},
)
SERVICE = click.argument("name", metavar="SERVICE")
MOST_WEIGHT = 1_000_000


@declare("list", short_help="List services")
@click.option("-A", "--all-namespaces", is_flag=True, help="Services of all namespaces.")
@click.option("-o", "--output", type=FORMATS, help="Another format.")
def list_command(settings: Settings, all_namespaces: bool, output: str | None) -> None:
    """List services, with a row for each predictor."""
    with settings.client() as client:
        found = client.services.list(all_namespaces=all_namespaces)
    if output:
        print_objects([one.manifest for one in found], output, "inference")
        return
    columns = [name_column(), Column("READY"), Column("PREDICTOR"), Column("VERSION"), Column("SHARE", right=True)]
    columns += [Column("REPLICAS", right=True, rank=2), Column("ENDPOINT", rank=1), Column("WHAT")]
    rows = [row for one in found for row in _rows(one)]
    if all_namespaces:
        columns.insert(0, Column("NAMESPACE"))
        rows = [[one.namespace, *row] for one in found for row in _rows(one)]
    print_rows(settings, columns, rows, f"no services in {'any namespace' if all_namespaces else client.namespace}")


def _rows(service: "Service") -> list[list[str]]:
    rows = []
    for place, predictor in enumerate(service.predictors):
        first = [service.name, "yes" if service.is_ready else "no"] if place == 0 else ["", ""]
        endpoint = (service.endpoint or "-") if place == 0 else ""
        row = _predictor_row(predictor)
        rows.append([*first, *row[:4], endpoint, row[4]])
    return rows


def _predictor_row(one: "Predictor") -> list[str]:
    share = f"{one.percent} %" if one.percent is not None else "-"
    what = _rollout(one.rollout) or one.message
    return [one.name, one.model_version or "-", share, f"{one.ready}/{one.replicas}", what]


def _rollout(rollout: "Rollout") -> str:
    if rollout.phase in ("", "Stable"):
        return f"{rollout.rejected} was rolled back" if rollout.rejected else ""
    return f"{rollout.candidate or rollout.rejected} {rollout.phase}: {rollout.message}".strip()


@declare("get", short_help="Show a service")
@SERVICE
@click.option("-o", "--output", type=FORMATS, help="The object itself, to apply again.")
def get_command(settings: Settings, name: str, output: str | None) -> None:
    """Show a service: its predictors, and why it is not ready."""
    from kubedl.cli.terminal import printable

    with settings.client() as client:
        found = client.services.get(name)
    if output:
        print_one(found.manifest, output, "inference")
        return
    terminal = settings.terminal()
    state = "ready" if found.is_ready else f"not ready: {found.message or '-'}"
    endpoint = found.endpoint or "no endpoint"
    terminal.write(f"{terminal.paint(name, 'bold')}  {printable(f'{found.framework}  {state}  {endpoint}')}")
    terminal.write(f"  created {since(found.metadata.get('creationTimestamp'))} ago")
    terminal.write("")
    columns = [name_column("PREDICTOR"), Column("VERSION"), Column("SHARE", right=True), Column("REPLICAS", right=True)]
    rows = [_predictor_row(one) for one in found.predictors]
    print_rows(settings, [*columns, Column("WHAT")], rows, "no predictors")


@declare("traffic", short_help="Share the traffic")
@SERVICE
@click.argument("shares", metavar="PREDICTOR=WEIGHT...", nargs=-1, required=True)
def traffic_command(settings: Settings, name: str, shares: tuple[str, ...]) -> None:
    """Set the weights of predictors; the share of one is its weight among those of all."""
    weights = dict(_weight(one) for one in shares)
    with settings.client() as client:
        before = {one.name: one.weight for one in client.services.get(name).predictors}
        after = client.services.set_traffic(name, weights)
    changes = ", ".join(f"{one.name} {before.get(one.name, '-')} → {one.weight}" for one in after.predictors)
    click.echo(f"inference/{name}: {changes}")


def _weight(text: str) -> tuple[str, int]:
    name, equals, number = text.partition("=")
    if not equals or not name or not number.isdecimal() or len(number) > 7 or int(number) > MOST_WEIGHT:
        raise click.UsageError(f"{text[:100]} is not understood\nnext  PREDICTOR=WEIGHT, such as main=70")
    return name, int(number)


def _say(word: str, text: str) -> click.Command:
    """Return the command that says a word to a rollout."""

    @declare(word, short_help=text)
    @SERVICE
    @click.option("--predictor", metavar="NAME", help="Of one predictor; by default of all that have a rollout.")
    def say(settings: Settings, name: str, predictor: str | None) -> None:
        with settings.client() as client:
            getattr(client.services, word)(name, predictor=predictor)
        click.echo(f"inference/{name}: {word} is asked for; kubedl serve get {name} shows what comes of it")

    say.help = f"{text}."
    return say


next_command = _say("next", "Go on to the next step of a rollout")
promote_command = _say("promote", "Let the new version serve everything")
abort_command = _say("abort", "Go back to the version that served before")
retry_command = _say("retry", "Try a version again that was rolled back")


@declare("scale", short_help="Change the number of servers")
@SERVICE
@click.option("--predictor", metavar="NAME", help="Which predictor; needed if there are several.")
@click.option("--replicas", type=click.IntRange(0, 10_000), required=True, metavar="N", help="Servers.")
def scale_command(settings: Settings, name: str, predictor: str | None, replicas: int) -> None:
    """Change the number of servers of a predictor."""
    with settings.client() as client:
        service = client.services.scale(name, replicas=replicas, predictor=predictor)
    chosen = predictor or service.predictors[0].name
    click.echo(f"inference/{name}: {chosen} has {replicas} servers")


@declare("delete", short_help="Delete services")
@click.argument("names", metavar="SERVICE...", nargs=-1, required=True)
def delete_command(settings: Settings, names: tuple[str, ...]) -> None:
    """Delete services and their servers. Models stay."""
    with settings.client() as client:
        for name in names:
            client.services.delete(name)
            click.echo(f"inference/{name} deleted from {client.namespace}")
