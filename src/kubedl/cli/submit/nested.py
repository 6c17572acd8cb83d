"""The manifest of a `submit` command that stands inside another one: `cron create NAME … -- submit KIND …`."""

from collections.abc import Sequence
from typing import Any

import click

from kubedl.cli.commands.submit import command as submit
from kubedl.cli.commands.submit_job import SubmitCommand
from kubedl.cli.settings import GLOBAL


def manifest_of_words(words: Sequence[str], name: str) -> dict[str, Any]:
    """Return the manifest of the words of `submit`; the job gets this name if they have none."""
    rest = list(words[1:] if words[0] == "submit" else words)
    above = click.Context(submit, info_name="submit")
    kind = submit.get_command(above, rest[0]) if rest else None
    if not isinstance(kind, SubmitCommand):
        raise click.UsageError("the words after -- are no job\nnext  -- submit KIND --image IMAGE COMMAND")
    given = [] if any(word.partition("=")[0] == "--name" for word in rest) else ["--name", name]
    ctx = kind.make_context(rest[0], [*given, *rest[1:]], parent=above)
    flags = {key: value for key, value in ctx.params.items() if key not in GLOBAL}
    return kind.manifest(flags)
