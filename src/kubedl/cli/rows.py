"""Prints rows of objects: as a table, as JSON or YAML, or by name."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from kubedl.cli.durations import age
from kubedl.cli.settings import Settings
from kubedl.cli.table import Column, render

Object = Mapping[str, Any]
FORMATS = click.Choice(("json", "yaml", "name"))


def print_rows(settings: Settings, columns: Sequence[Column], rows: Sequence[Sequence[str]], empty: str) -> None:
    """Print a table; without rows, words about that to standard error."""
    terminal = settings.terminal()
    if not rows:
        click.echo(empty, err=True)
        return
    for line in render(terminal, columns, rows):
        terminal.write(line)


def print_objects(objects: Sequence[Object], form: str, word: str) -> None:
    """Print objects for programs."""
    from kubedl.cli.structured import applicable, print_object  # noqa: PLC0415

    if form == "name":
        click.echo("".join(f"{word}/{one['metadata']['name']}\n" for one in objects), nl=False)
    else:
        print_object({"apiVersion": "v1", "kind": "List", "items": [applicable(one) for one in objects]}, form)


def print_one(value: Object, form: str, word: str) -> None:
    """Print an object for programs."""
    from kubedl.cli.structured import applicable, print_object  # noqa: PLC0415

    if form == "name":
        click.echo(f"{word}/{value['metadata']['name']}")
    else:
        print_object(applicable(value), form)


def name_column(title: str = "NAME") -> Column:
    """Return the column of names."""
    return Column(title, paint=lambda terminal, text: terminal.paint(text, "bold"))


def since(text: object) -> str:
    """Return how long ago a time of the server was; a dash if there is none."""
    from kubedl.client.job import parse_time  # noqa: PLC0415

    moment = parse_time(text)
    return age((datetime.now(UTC) - moment).total_seconds()) if moment is not None else "-"


def until(text: object) -> str:
    """Return how long until a time of the server."""
    from kubedl.client.job import parse_time  # noqa: PLC0415

    moment = parse_time(text)
    return f"in {age((moment - datetime.now(UTC)).total_seconds())}" if moment is not None else "-"


def condition(value: Object, kind: str) -> Object:
    """Return a condition of an object; empty if it has none."""
    found = (value.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one.get("type") == kind), {})
