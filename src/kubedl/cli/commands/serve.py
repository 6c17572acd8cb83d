"""`kubedl serve`: models that are served."""

from collections.abc import Mapping
from typing import Any

import click

from kubedl.cli.lazy_group import group
from kubedl.cli.rows import FORMATS, condition, name_column, print_objects, print_one, print_rows, since
from kubedl.cli.settings import Settings, declare
from kubedl.cli.table import Column

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
ANNOTATION = "serving.kubedl.io/rollout"
SERVICE = click.argument("name", metavar="SERVICE")
MOST_WEIGHT = 1_000_000


@declare("list", short_help="List services")
@click.option("-A", "--all-namespaces", is_flag=True, help="Services of all namespaces.")
@click.option("-o", "--output", type=FORMATS, help="Another format.")
def list_command(settings: Settings, all_namespaces: bool, output: str | None) -> None:
    """List services, with a row for each predictor."""
    from kubedl.client.objects import INFERENCES

    with settings.client() as client:
        found = client.objects.list_all(INFERENCES, all_namespaces=all_namespaces)
    if output:
        print_objects(found, output, "inference")
        return
    columns = [name_column(), Column("READY"), Column("PREDICTOR"), Column("VERSION"), Column("SHARE", right=True)]
    columns += [Column("REPLICAS", right=True, rank=2), Column("ENDPOINT", rank=1), Column("WHAT")]
    rows = [row for one in found for row in _rows(one)]
    if all_namespaces:
        columns.insert(0, Column("NAMESPACE"))
        rows = [[one["metadata"]["namespace"], *row] for one in found for row in _rows(one)]
    print_rows(settings, columns, rows, f"no services in {'any namespace' if all_namespaces else client.namespace}")


def _rows(service: Mapping[str, Any]) -> list[list[str]]:
    status = service.get("status") or {}
    known = {one["name"]: one for one in status.get("predictorStatuses") or ()}
    ready = "yes" if condition(service, "Ready").get("status") == "True" else "no"
    rows = []
    for place, predictor in enumerate(service["spec"].get("predictors") or ()):
        first = place == 0
        row = _predictor_row(predictor, known.get(predictor["name"], {}))
        endpoint = str(status.get("inferenceEndpoint") or "-") if first else ""
        rows.append([service["metadata"]["name"] if first else "", ready if first else "", *row[:4], endpoint, row[4]])
    return rows


def _predictor_row(predictor: Mapping[str, Any], status: Mapping[str, Any]) -> list[str]:
    wanted = status.get("replicas", predictor.get("replicas", 1))
    return [
        predictor["name"],
        str(status.get("modelVersion") or predictor.get("modelVersion") or "-"),
        f"{status['trafficPercent']} %" if "trafficPercent" in status else "-",
        f"{status.get('readyReplicas', 0)}/{wanted}",
        _rollout(status) or str(status.get("message") or ""),
    ]


def _rollout(status: Mapping[str, Any]) -> str:
    rollout = status.get("rollout") or {}
    phase = str(rollout.get("phase") or "")
    if phase in ("", "Stable"):
        return f"{rollout['rejected']} was rolled back" if rollout.get("rejected") else ""
    return (
        f"{rollout.get('candidate') or rollout.get('rejected') or ''} {phase}: {rollout.get('message') or ''}".strip()
    )


@declare("get", short_help="Show a service")
@SERVICE
@click.option("-o", "--output", type=FORMATS, help="The object itself, to apply again.")
def get_command(settings: Settings, name: str, output: str | None) -> None:
    """Show a service: its predictors, and why it is not ready."""
    from kubedl.client.objects import INFERENCES

    with settings.client() as client:
        found = client.objects.get(INFERENCES, name)
    if output:
        print_one(found, output, "inference")
        return
    terminal, ready = settings.terminal(), condition(found, "Ready")
    state = (
        "ready" if ready.get("status") == "True" else f"not ready: {ready.get('message') or ready.get('reason') or '-'}"
    )
    endpoint = (found.get("status") or {}).get("inferenceEndpoint") or "no endpoint"
    terminal.write(f"{terminal.paint(name, 'bold')}  {found['spec'].get('framework', '')}  {state}  {endpoint}")
    terminal.write(f"  created {since(found['metadata'].get('creationTimestamp'))} ago")
    terminal.write("")
    known = {one["name"]: one for one in (found.get("status") or {}).get("predictorStatuses") or ()}
    rows = [_predictor_row(one, known.get(one["name"], {})) for one in found["spec"].get("predictors") or ()]
    columns = [name_column("PREDICTOR"), Column("VERSION"), Column("SHARE", right=True), Column("REPLICAS", right=True)]
    print_rows(settings, [*columns, Column("WHAT")], rows, "no predictors")


@declare("traffic", short_help="Share the traffic")
@SERVICE
@click.argument("shares", metavar="PREDICTOR=WEIGHT...", nargs=-1, required=True)
def traffic_command(settings: Settings, name: str, shares: tuple[str, ...]) -> None:
    """Set the weights of predictors; the share of one is its weight among those of all."""
    from kubedl.client.objects import INFERENCES

    weights = dict(_weight(one) for one in shares)
    with settings.client() as client:
        found = client.objects.get(INFERENCES, name)
        predictors = [dict(one) for one in found["spec"]["predictors"]]
        unknown = set(weights) - {one["name"] for one in predictors}
        if unknown:
            known = ", ".join(one["name"] for one in predictors)
            raise click.UsageError(f"{name} has no predictor called {', '.join(sorted(unknown))}\nnext  it has {known}")
        before = {one["name"]: one.get("trafficWeight", 100) for one in predictors}
        for one in predictors:
            one["trafficWeight"] = weights.get(one["name"], before[one["name"]])
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        client.objects.patch(INFERENCES, name, {"metadata": version, "spec": {"predictors": predictors}})
    changes = ", ".join(f"{one['name']} {before[one['name']]} → {one['trafficWeight']}" for one in predictors)
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
        from kubedl.client.objects import INFERENCES

        with settings.client() as client:
            found = client.objects.get(INFERENCES, name)
            _check(found, word, predictor)
            value = f"{word}:{predictor}" if predictor else word
            client.objects.patch(INFERENCES, name, {"metadata": {"annotations": {ANNOTATION: value}}})
        click.echo(f"inference/{name}: {word} is asked for; kubedl serve get {name} shows what comes of it")

    say.help = f"{text}."
    return say


def _check(service: Mapping[str, Any], word: str, predictor: str | None) -> None:
    """Refuse a word that has nothing to change."""
    from kubedl.client import Invalid

    statuses = (service.get("status") or {}).get("predictorStatuses") or ()
    rollouts = [one.get("rollout") or {} for one in statuses if predictor in (None, one["name"])]
    name = service["metadata"]["name"]
    active = any(one.get("phase") not in (None, "Stable", "RolledBack") for one in rollouts)
    rejected = next((one["rejected"] for one in rollouts if one.get("rejected")), "")
    if word in ("retry", "promote") and rejected:  # a version that was rolled back may be tried again, or forced
        return
    if word == "retry" or not active:
        why = f"{rejected} was rolled back" if rejected else "no rollout is under way"
        steps = (f"kubedl serve retry {name}",) if rejected else (f"kubedl serve get {name}",)
        raise Invalid(f"nothing to {word if word != 'next' else 'continue'}", why, steps)


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
    from kubedl.client.objects import INFERENCES

    with settings.client() as client:
        found = client.objects.get(INFERENCES, name)
        predictors = [dict(one) for one in found["spec"]["predictors"]]
        chosen = [one for one in predictors if predictor in (None, one["name"])]
        if len(chosen) != 1:
            known = ", ".join(one["name"] for one in predictors)
            raise click.UsageError(f"{name} has the predictors {known}\nnext  --predictor NAME")
        chosen[0]["replicas"] = replicas
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        client.objects.patch(INFERENCES, name, {"metadata": version, "spec": {"predictors": predictors}})
    click.echo(f"inference/{name}: {chosen[0]['name']} has {replicas} servers")


@declare("delete", short_help="Delete services")
@click.argument("names", metavar="SERVICE...", nargs=-1, required=True)
def delete_command(settings: Settings, names: tuple[str, ...]) -> None:
    """Delete services and their servers. Models stay."""
    from kubedl.client.objects import INFERENCES

    with settings.client() as client:
        for name in names:
            client.objects.delete(INFERENCES, name)
            click.echo(f"inference/{name} deleted from {client.namespace}")
