"""A group of commands that are imported when they are used. Their one-line help stands in a table."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from kubedl.cli.settings import global_options

Listed = Mapping[str, tuple[str, str]]  # command → module, or module:attribute, and one-line help


MOST_NAMED = 10  # commands in an error


class LazyGroup(click.Group):
    """A group whose commands are in sections; without a name, a module's command is its attribute `command`."""

    def __init__(
        self,
        *,
        sections: Mapping[str, Listed] | None = None,
        aliases: Mapping[str, str] | None = None,
        hidden_commands: Listed | None = None,
        **attributes: Any,  # noqa: ANN401 - those of click.Group
    ) -> None:
        super().__init__(**attributes)
        self._sections = sections or {}
        self._aliases = aliases or {}
        self._hidden: Listed = hidden_commands or {}

    @property
    def sections(self) -> Mapping[str, Listed]:
        """The commands by title."""
        return self._sections

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for section in self.sections.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = self._aliases.get(cmd_name, cmd_name)
        for section in (*self.sections.values(), self._hidden):
            if name in section:
                module, _, attribute = section[name][0].partition(":")
                found: click.Command = getattr(import_module(module), attribute or "command")
                return found
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the commands that there are, in the error about one that does not exist."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"no such command: {args[0]}\nnext  {self._meant(ctx, args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def _meant(self, ctx: click.Context, word: str) -> str:
        """Return what was probably meant: a similar command, all of few, or the help."""
        import difflib  # noqa: PLC0415 - only after a mistake

        known = self.list_commands(ctx)
        close = difflib.get_close_matches(word.lower(), known, n=2, cutoff=0.6)
        if not close and len(known) > MOST_NAMED:
            return f"{ctx.command_path} --help"
        return f"{ctx.command_path} {', '.join(close or known)}"

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands first, since they are what is looked for; nothing is imported for it."""
        width = max(map(len, self.list_commands(ctx)))
        for title, section in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, (_, text) in section.items()])
        records = [record for one in self.get_params(ctx) if (record := one.get_help_record(ctx)) is not None]
        with formatter.section("Global flags"):
            formatter.write_dl(records)


def group(
    name: str,
    text: str,
    module: str,
    commands: Mapping[str, str],
    *,
    elsewhere: Mapping[str, str] | None = None,
    hidden_commands: Listed | None = None,
) -> LazyGroup:
    """Return a group of commands that stand in one module, each under its own name with `_command` behind it.

    Those that have a module of their own are named in `elsewhere`.
    """
    listed = {word: (f"{module}:{word.replace('-', '_')}_command", help_) for word, help_ in commands.items()}
    for word, place in (elsewhere or {}).items():
        listed[word] = (place, listed[word][1])
    return LazyGroup(
        name=name,
        help=text,
        subcommand_metavar="COMMAND ...",
        options_metavar="",
        params=global_options(),
        sections={"Commands": listed},
        hidden_commands=hidden_commands,
    )
