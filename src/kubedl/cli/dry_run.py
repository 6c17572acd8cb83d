"""The flag --dry-run, which may have a mode: `--dry-run` is `--dry-run=client`."""

import click

from kubedl.cli.settings import Command

MODES = ("none", "client", "server")


def dry_run(text: str) -> click.Option:
    """Return the flag, with its help."""
    return click.Option(
        ["--dry-run"], type=click.Choice(MODES), default="none", is_flag=False, flag_value="client", help=text
    )


def with_mode(words: list[str]) -> list[str]:
    """Complete --dry-run without a mode: what follows it may be the command, or a name."""
    after = [*words[1:], ""]
    end = words.index("--") if "--" in words else len(words)
    return [
        "--dry-run=client" if word == "--dry-run" and place < end and after[place] not in MODES else word
        for place, word in enumerate(words)
    ]


class DryRunCommand(Command):
    """A command with the flag, last of its own."""

    def __init__(self, *arguments: object, dry_run_help: str, **attributes: object) -> None:
        params = attributes.get("params")
        own = list(params) if isinstance(params, list) else []
        super().__init__(*arguments, **attributes | {"params": [*own, dry_run(dry_run_help)]})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_mode(args))
