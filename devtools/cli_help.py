"""The help of the command line: text files that are shown before anything is imported, and the reference page."""

from collections.abc import Iterator

import click

from kubedl.cli.lazy_group import LazyGroup
from kubedl.cli.main import kubedl
from kubedl.cli.static_help import GROUPS
from kubedl.cli.submit.kind_schema import describe, to_json
from kubedl.training.kinds import all_kinds

WIDTH = 80


def static_help() -> dict[str, str]:
    """Each file of `kubedl.cli.help`, and its text."""
    return {file: _help(list(words)) for words, file in GROUPS.items()}


def describe_cli() -> str:
    """The reference page."""
    sections = "".join(
        f"\n## {' '.join(['kubedl', *words])}\n\n```text\n{_help(words)}```\n" for words in _commands(kubedl, [])
    )
    return (
        "# The command line\n\n"
        "`pip install kubedl` installs it. A kubeconfig is enough: everything is asked of the API server, with the "
        "rights of the caller. Data goes to standard output, words about it to standard error.\n\n"
        "## Exit codes\n\n"
        "| code | of `wait`, `logs -f` and `submit --wait` | of the others |\n| --- | --- | --- |\n"
        "| 0 | the job succeeded | done |\n"
        "| 1 to 255 | the exit code of the replica that failed first; 1 if no container has one | 1: refused |\n"
        "| 2 | wrong use: nothing was sent | wrong use |\n"
        "| 3 | | `submit --check`: would wait, or cannot be told; `why`: the cause cannot be told |\n"
        "| 124 | `--timeout` passed | |\n"
        "| 125 | kubedl itself failed: no connection, no such job | |\n"
        "| 126 | the API server refused the job | |\n"
        "| 130 | Ctrl-C: detached, the job goes on | stopped |\n"
        f"{sections}"
    )


def _commands(group: click.Command, words: list[str]) -> Iterator[list[str]]:
    """The group and everything below it, in the order of the help."""
    yield words
    if isinstance(group, LazyGroup):
        ctx = click.Context(group)
        for name in group.list_commands(ctx):
            command = group.get_command(ctx, name)
            assert command is not None  # noqa: S101 - it is listed
            yield from _commands(command, [*words, name])


def _help(words: list[str]) -> str:
    ctx, command = click.Context(kubedl, info_name="kubedl", terminal_width=WIDTH, **kubedl.context_settings), kubedl
    found: click.Command = command
    for word in words:
        assert isinstance(found, click.Group)  # noqa: S101 - the words come from the groups
        below = found.get_command(ctx, word)
        assert below is not None  # noqa: S101
        found, ctx = below, click.Context(below, info_name=word, parent=ctx, terminal_width=WIDTH)
    return f"{found.get_help(ctx)}\n"


def kinds_of_submit() -> str:
    """The file from which `submit` has the flags of our kinds."""
    return to_json([describe(kind) for kind in all_kinds() if type(kind).__module__.startswith("kubedl.")])
