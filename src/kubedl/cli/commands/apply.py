"""`kubedl apply`."""

from typing import TYPE_CHECKING, Any

import click

from kubedl.cli.dry_run import DryRunCommand
from kubedl.cli.settings import Settings

if TYPE_CHECKING:
    from kubedl.cli.terminal import Terminal
    from kubedl.client.applying import Applied
    from kubedl.client.differences import Difference

SHOWN, LONGEST = 12, 60  # fields, and characters of a value


@click.command(
    "apply",
    cls=DryRunCommand,
    short_help="Create or change objects from files",
    dry_run_help="Change nothing: print the manifests (client, the default), or let the server say what would change.",
)
@click.option(
    "-f", "--filename", "files", multiple=True, required=True, metavar="FILE", help="Manifest; - is standard input."
)
@click.option("--force-conflicts", is_flag=True, help="Take over fields that others have set to something else.")
@click.option("-o", "--output", type=click.Choice(("json", "yaml", "name")), help="Print the objects.")
def command(settings: Settings, files: tuple[str, ...], force_conflicts: bool, dry_run: str, output: str | None) -> int:
    """Create or change jobs, Crons, Inferences, Models, ModelVersions and CacheBackends from files.

    Fields that the file does not have stay as they are. What the server refuses to change is printed with its reason,
    and the other objects are applied.
    """
    from kubedl.cli.submit.files import check_namespace, read_objects

    objects = [one for file in files for one in read_objects(file)]
    for one in objects:
        check_namespace(settings, one)
    if dry_run == "client":
        _print(objects, output or "yaml")
        return 0
    return _apply(settings, objects, output, force=force_conflicts, dry_run=dry_run == "server")


def _apply(settings: Settings, objects: list[dict[str, Any]], output: str | None, *, force: bool, dry_run: bool) -> int:
    from kubedl.cli import failures
    from kubedl.client import Conflict, Forbidden, Invalid, NotFound, NotSupported

    terminal, done, code = settings.terminal(), [], 0
    with settings.client() as client:
        for one in objects:
            try:
                applied = client.apply(one, namespace=settings.namespace, force=force, dry_run=dry_run)
            except (Conflict, Forbidden, Invalid, NotFound, NotSupported) as error:
                failures.print_error(error.message, error.why, error.next)
                code = failures.REFUSED
                continue
            done.append(applied.after)
            if not output:
                _say(terminal, applied, dry_run=dry_run)
    if output and done:
        _print(done, output)
    return code


def _say(terminal: "Terminal", applied: "Applied", *, dry_run: bool) -> None:
    from kubedl.cli.terminal import printable

    words = {"unchanged": "unchanged"} if dry_run else {}
    result = words.get(applied.result, f"would be {applied.result}" if dry_run else applied.result)
    terminal.write(f"{applied} {result} in {applied.after['metadata']['namespace']}")
    changes = applied.changes
    for one in changes[:SHOWN]:
        terminal.write(f"  {printable(_line(one))}")
    if len(changes) > SHOWN:
        terminal.write(f"  and {len(changes) - SHOWN} more")


def _line(one: "Difference") -> str:
    return f"{one.field}: {_shown(one.before)} → {_shown(one.after)}"


def _shown(value: object) -> str:
    import json

    from kubedl.client.differences import NOTHING

    if value is NOTHING:
        return "none"
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _print(objects: list[dict[str, Any]], form: str) -> None:
    from kubedl.cli.structured import applicable, print_object

    if form == "name":
        click.echo("".join(f"{one['kind'].lower()}/{one['metadata']['name']}\n" for one in objects), nl=False)
    elif len(objects) == 1:
        print_object(applicable(objects[0]), form)
    else:
        print_object({"apiVersion": "v1", "kind": "List", "items": [applicable(one) for one in objects]}, form)
