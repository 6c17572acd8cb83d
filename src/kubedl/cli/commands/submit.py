"""`kubedl submit`: a command for each kind of jobs, and jobs from files."""

from collections.abc import Mapping
from typing import Any

import click

from kubedl.cli.lazy_group import LazyGroup, Listed
from kubedl.cli.settings import GLOBAL, global_options, settings_of
from kubedl.cli.submit import arena
from kubedl.cli.submit.flags import sending_options

MODULE = "kubedl.cli.commands.submit_job"


class SubmitGroup(LazyGroup):
    """Kinds by word: ours, Arena's words for them, and those of packages that are installed."""

    @property
    def sections(self) -> Mapping[str, Listed]:
        from kubedl.cli.submit.kind_schema import known_kinds

        return {"Kinds": {word: (MODULE, f"{kind.kind}: {kind.summary}") for word, kind in known_kinds().items()}}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from kubedl.cli.commands.submit_job import command_for
        from kubedl.cli.submit.kind_schema import installed_kind, known_kinds

        word = arena.KINDS.get(cmd_name.lower(), cmd_name.lower())
        if word in arena.NO_KINDS:
            raise click.UsageError(f"submit {cmd_name} has no kind here\nnext  {arena.NO_KINDS[word]}", ctx)
        kind = known_kinds().get(word)
        if kind is None and not ctx.resilient_parsing:
            kind = installed_kind(word)
        return command_for(kind) if kind is not None else None


def submit(files: tuple[str, ...], **flags: Any) -> int:  # noqa: ANN401 - those of JobFlags
    """Submit jobs from files; a kind has its own command."""
    ctx = click.get_current_context()
    if ctx.invoked_subcommand is not None:
        return 0
    from kubedl.cli.submit.files import submit_files

    own = {name: value for name, value in flags.items() if name not in GLOBAL}
    return submit_files(settings_of(ctx), files, **own)


command = SubmitGroup(
    name="submit",
    help="Submit a training job: by flags, or from a file with -f. --dry-run prints the manifest and creates nothing.",
    epilog="`kubedl submit KIND --help` has the flags of a kind.",
    subcommand_metavar="KIND ...",
    options_metavar="",
    invoke_without_command=True,
    callback=submit,
    params=[
        click.Option(
            ["-f", "--filename", "files"], multiple=True, metavar="FILE", help="Manifest of jobs; - is standard input."
        ),
        *sending_options(),
        *global_options(),
    ],
)
