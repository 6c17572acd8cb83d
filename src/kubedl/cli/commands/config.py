"""`kubedl config`: what flags are by default."""

import click

from kubedl.cli import configuration
from kubedl.cli.lazy_group import group
from kubedl.cli.rows import name_column, print_rows
from kubedl.cli.settings import Settings, declare
from kubedl.cli.table import Column

command = group(
    "config",
    "What flags are by default. A flag counts more than KUBEDL_… of the environment, that more than kubedl.toml of the "
    "project (in this directory, or the nearest one above it), and that more than your own file.",
    __name__,
    {
        "get": "Print a setting, or all that have a value",
        "list": "List all settings that there are, with their values and where these come from",
        "set": "Set a value: config set image registry.example/torch:2.6",
        "unset": "Remove a value",
    },
)
PROJECT = click.option("--project", is_flag=True, help="In kubedl.toml of the project; by default in your own file.")
FORMATS = click.Choice(("json", "yaml"))


@declare("get", short_help="Print a setting")
@click.argument("key", metavar="[KEY]", required=False)
@click.option("--origin", is_flag=True, help="Where the value comes from, too.")
@click.option("-o", "--output", type=FORMATS, help="Another format.")
def get_command(settings: Settings, key: str | None, origin: bool, output: str | None) -> None:
    """Print the value of a setting; without KEY, of all that have one."""
    if key is None:
        _list(settings, output, all_keys=False, origin=origin)
        return
    from kubedl.client.errors import NotFound

    configuration.check_key(key)
    found = configuration.find(key)
    if found is None:
        raise NotFound(f"{key} is not set", configuration.KEYS[key].help, (f"kubedl config set {key} VALUE",))
    if output:
        _print({key: found}, output)
    else:
        click.echo(f"{found.text}  {found.origin}" if origin else found.text)


@declare("list", short_help="List settings")
@click.option("-o", "--output", type=FORMATS, help="Another format: of those that have a value.")
def list_command(settings: Settings, output: str | None) -> None:
    """List all settings that there are, with their values and where these come from."""
    _list(settings, output, all_keys=True, origin=True)


def _list(settings: Settings, output: str | None, *, all_keys: bool, origin: bool) -> None:
    found = {key: configuration.find(key) for key in configuration.KEYS}
    known = {key: value for key, value in found.items() if value is not None}
    if output:
        _print(known, output)
        return
    columns = [name_column("SETTING"), Column("VALUE"), *([Column("ORIGIN")] if origin else [])]
    rows = [[key, value.text, *([value.origin] if origin else [])] for key, value in known.items()]
    if all_keys:
        columns.append(Column("WHAT"))
        given = {row[0]: row for row in rows}
        rows = [[*given.get(key, [key, "-", "-"]), one.help] for key, one in configuration.KEYS.items()]
    print_rows(settings, columns, rows, "nothing is set; kubedl config list names all settings")


def _print(values: dict[str, configuration.Value], form: str) -> None:
    from kubedl.cli.structured import print_object

    print_object({key: {"value": one.text, "origin": one.origin} for key, one in values.items()}, form)


@declare("set", short_help="Set a value")
@click.argument("key", metavar="KEY")
@click.argument("value", metavar="VALUE")
@PROJECT
def set_command(settings: Settings, key: str, value: str, project: bool) -> None:
    """Set a value. The file is created if there is none; its other lines and comments stay."""
    from kubedl.cli.configuration_file import write

    configuration.check(key, value)
    if project and not configuration.KEYS[key].in_project:
        raise click.UsageError(f"{key} is not for projects: their files come from others\nnext  leave out --project")
    file = _file(project=project)
    write(file, key, value)
    click.echo(f"{key} is {value} ({file})")
    found = configuration.find(key)
    if found is not None and found.text != value:
        click.echo(f"hint: {found.origin} says {found.text}, and counts more", err=True)


@declare("unset", short_help="Remove a value")
@click.argument("key", metavar="KEY")
@PROJECT
def unset_command(settings: Settings, key: str, project: bool) -> None:
    """Remove a value from a file."""
    from kubedl.cli.configuration_file import write

    file = _file(project=project)
    done = write(file, key, None)
    click.echo(f"{key} {'removed from' if done else 'is not in'} {file}")
    found = configuration.find(key) if key in configuration.KEYS else None
    if found is not None:
        click.echo(f"hint: {found.origin} still says {found.text}", err=True)


def _file(*, project: bool) -> str:
    return (configuration.project_file() or configuration.PROJECT_FILE) if project else configuration.user_file()
