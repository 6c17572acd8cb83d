"""`kubedl submit KIND`: a command for each kind, with flags from the kind's own schema."""

from dataclasses import replace
from typing import Any

import click

from kubedl.cli import configuration
from kubedl.cli.dry_run import with_mode
from kubedl.cli.settings import Command, Settings
from kubedl.cli.submit import arena, role_flags, roles
from kubedl.cli.submit.flags import JobFlags, job_options
from kubedl.cli.submit.kind_schema import FieldSchema, KindSchema

OWN = "own__"  # prefix of the parameters of fields that only one kind has
PROCESSES, BY_TORCHRUN = "nprocPerNode", ("auto", "cpu", "gpu")
_COMMAND = "One argument is a line for the shell; several, after --, are a program and its arguments."


class SubmitCommand(Command):
    """A command that understands flags by their names in Arena."""

    kind: KindSchema

    def manifest(self, flags: dict[str, Any]) -> dict[str, Any]:
        """Return the job that values of its flags describe."""
        from kubedl.cli.submit.manifest import job_manifest

        chosen = self.flags(flags)
        if chosen.code or chosen.config_file:
            flag = "--code" if chosen.code else "--config-file"
            raise click.UsageError(
                f"{flag}: files of this machine are sent with one job, and deleted with it\n"
                "next  code from git (--sync-source), a claim (--data), or an image"
            )
        return job_manifest(self.kind, chosen)

    def flags(self, values: dict[str, Any]) -> JobFlags:
        """Return values of parameters as flags."""
        return JobFlags(**_sorted(self.kind, dict(values)))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = frozenset(name for parameter in self.params for name in parameter.opts)
        try:
            words, hints = arena.translate(with_mode(args), known)
        except click.UsageError as error:
            error.ctx = ctx
            raise
        if hints:
            click.echo(f"hint: {', '.join(hints)} (both work)", err=True)
        return super().parse_args(ctx, words)


def command_for(kind: KindSchema) -> SubmitCommand:
    """Return the command of a kind."""

    def submit(settings: Settings, **flags: Any) -> int:  # noqa: ANN401 - those of JobFlags
        from kubedl.cli.submit.manifest import job_manifest
        from kubedl.cli.submit.submission import submit_jobs

        chosen = JobFlags(**_sorted(kind, flags))
        if chosen.code:
            chosen = _with_code(chosen)
        return submit_jobs(settings, [job_manifest(kind, _in_archive(chosen))], chosen.sending)

    options = [*roles.count_options(kind), *job_options(), *map(_option, kind.fields)]
    if kind.role(roles.LAUNCHER) is not None:
        options.append(click.Option(["--mounts-on-launcher"], is_flag=True, help="Mount data in the Launcher too."))
    made = SubmitCommand(
        kind.word,
        callback=submit,
        params=[*options, *role_flags.role_options(kind)],
        help=f"Submit {_article(kind.kind)}.\n\n{_COMMAND}{_about_workers(kind)}",
        epilog=role_flags.described(kind),
    )
    made.kind = kind
    return made


def _with_code(flags: JobFlags) -> JobFlags:
    """Return flags whose command is words, to run in the directory that is shipped."""
    from kubedl.cli.submit.shipping import words_of

    if not flags.command:
        raise click.UsageError("--code needs a command\nnext  --code . -- python train.py")
    return replace(flags, command=tuple(words_of(flags.command, flags.shell)))


def _in_archive(flags: JobFlags) -> JobFlags:
    """Return flags with the command that starts the archive of a shipped directory, if there is one."""
    if not flags.code:
        return flags
    from kubedl.cli.submit.shipping import PROGRAM

    return replace(flags, command=PROGRAM)


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "AEIO" or kind.startswith(("MPI", "XGB", "XDL")) else f"a {kind}"


def _about_workers(kind: KindSchema) -> str:
    if roles.leads(kind):
        return " --workers counts the Master: 4 are one Master and three Workers."
    if kind.role(roles.LAUNCHER) is not None:
        return " The Launcher runs it, with mpirun; Workers wait for it."
    return ""


def _option(field: FieldSchema) -> click.Option:
    kinds: dict[str, Any] = {
        "integer": {"type": click.IntRange(field.least, field.most), "metavar": "N"},
        "boolean": {"type": click.BOOL, "metavar": "true|false"},
        "string": {"type": click.Choice(field.choices)} if field.choices else {"metavar": "TEXT"},
    }
    chosen = {"metavar": "N|auto|cpu|gpu"} if field.name == PROCESSES else kinds[field.type]
    return click.Option([field.flag, f"{OWN}{field.name}"], help=field.description, **chosen)


def _sorted(kind: KindSchema, flags: dict[str, Any]) -> dict[str, Any]:
    """Return the values by the names of JobFlags."""
    if flags["model_name"] and not flags["model_repo"]:
        flags["model_repo"] = configuration.text("model-repo")
    own = {field.name: flags.pop(f"{OWN}{field.name}") for field in kind.fields}
    own = {name: value for name, value in own.items() if value is not None}
    env = flags["env"]
    if PROCESSES in own:
        own, env = _processes(own, env)
    if flags.get("sync_source"):
        env, of_code = arena.code_variables(env)
        flags |= {name: flags.get(name) or value for name, value in of_code.items()}
    start = roles.PARAMETER
    counts = {name.removeprefix(start): flags.pop(name) for name in list(flags) if name.startswith(start)}
    by_role = role_flags.take(kind, flags)
    return {**flags, "env": env, "own": own, "counts": counts, "roles": by_role}


def _processes(own: dict[str, Any], env: tuple[str, ...]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return --nproc-per-node as a field, or as the variable of torchrun if it is no number."""
    value = str(own.pop(PROCESSES))
    if value in BY_TORCHRUN:
        return own, (*env, f"PET_NPROC_PER_NODE={value}")
    if not value.isdecimal() or not 1 <= int(value[:6]) <= 1024:
        raise click.UsageError(f"--nproc-per-node {value[:50]} is not understood\nnext  1 to 1024, auto, cpu or gpu")
    return {**own, PROCESSES: int(value)}, env
