"""`kubedl run`: one command as a job, with the code of a directory, followed to its end."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubedl.cli.commands.submit_job import SubmitCommand, command_for
from kubedl.cli.settings import Settings
from kubedl.cli.submit.kind_schema import known_kinds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubedl.client import Job, TrainingClient

NOT_HERE = ("wait", "timeout", "output", "check", "code")  # a run is always followed


def run(settings: Settings, code: str | None, no_code: bool, remove: bool, **flags: Any) -> int:  # noqa: ANN401
    """Run a command as a PyTorchJob and follow its logs; the exit code is that of the replica that failed first.

    The directory is shipped if the command names a file in it, as git sees it: at most 900 KiB packed. Files that look
    like keys are left out.
    """
    from kubedl.cli.submit.manifest import job_manifest
    from kubedl.client.code_jobs import generated_name

    if not flags["command"]:
        raise click.UsageError("run needs a command\nnext  kubedl run --gpus 1 -- python train.py")
    if not flags["image"]:
        raise click.UsageError("no image\nnext  --image IMAGE, or kubedl config set image IMAGE")
    words = list(flags["command"])
    name = flags["name"] or generated_name(_stem(words))
    flags["name"] = name
    directory = None if no_code else Path(code) if code else _directory(words)
    if directory is not None:
        flags["command"] = ("python3", "/kubedl-files/code.pyz")
    chosen = _BASE.flags(flags)
    manifest, files = job_manifest(_BASE.kind, chosen), chosen.sending.files
    if chosen.dry_run != "none":
        return _print(manifest, files)
    line = [chosen.shell, "-c", words[0]] if len(words) == 1 else words
    return _follow(settings, manifest, directory, line, files, remove=remove)


def _print(manifest: dict[str, Any], files: "Mapping[str, bytes]") -> int:
    from kubedl.cli.structured import print_object
    from kubedl.cli.submit.submission import with_files

    for number, one in enumerate(with_files(manifest, files)):
        if number:
            click.echo("---")
        print_object(one, "yaml")
    return 0


def _follow(
    settings: Settings,
    manifest: dict[str, Any],
    directory: Path | None,
    words: list[str],
    files: "Mapping[str, bytes]",
    *,
    remove: bool,
) -> int:
    from kubedl.cli import failures, following
    from kubedl.cli.log_printer import LogPrinter

    printer = LogPrinter(settings.terminal(), timestamps=False)
    with settings.client() as client:
        job = _create(client, manifest, directory, words, files)
        click.echo(f"{job} created in {job.namespace}", err=True)

        has_ended = False

        def follow() -> None:
            nonlocal has_ended
            follower = client.follow_job_logs(f"{job.word}/{job.name}", on_note=printer.note)
            for line in follower:
                printer.write(line, at_once=True)
            has_ended = follower.job.is_finished
            following.tell_end(client, follower.job)

        try:
            code = failures.code_of_job(follow)
        except KeyboardInterrupt:
            return following.detached([job.name])
        if remove and has_ended:  # one that cannot be followed any more goes on
            client.delete_job(f"{job.word}/{job.name}")
    return code


def _create(
    client: "TrainingClient",
    manifest: dict[str, Any],
    directory: Path | None,
    words: list[str],
    files: "Mapping[str, bytes]",
) -> "Job":
    from kubedl.cli.submit.flags import Code
    from kubedl.cli.submit.shipping import create_with_code
    from kubedl.cli.submit.submission import name_submitter

    name_submitter(client, manifest)
    if directory is None:
        return client.create_job(manifest, files=files)
    return create_with_code(client, manifest, Code(str(directory), tuple(words)), files)


def _stem(words: list[str]) -> str:
    """Return what a job is called after: the first file of its command."""
    parts = words[0].split() if len(words) == 1 else words
    return next((Path(word).stem for word in parts if Path(word).suffix in (".py", ".sh")), "run")


def _directory(words: list[str]) -> Path | None:
    """Return the working directory if the command names a file in it."""
    parts = words[0].split() if len(words) == 1 else words
    here = Path.cwd()
    named = (here / word for word in parts if not word.startswith(("-", "/")) and len(word) < 1000)
    return here if any(path.is_file() and path.resolve().is_relative_to(here) for path in named) else None


def _params() -> list[click.Parameter]:
    """Return the flags of `submit pytorch`: neither name nor image are required, and it is always waited for."""
    found = []
    for parameter in _BASE.params:
        if parameter.name in NOT_HERE:
            continue
        if parameter.name in ("name", "image"):
            parameter.required = False
        found.append(parameter)
    own = [
        click.Option(["--code"], metavar="DIRECTORY", type=click.Path(exists=True, file_okay=False), help="Ship it."),
        click.Option(["--no-code"], is_flag=True, help="Ship nothing."),
        click.Option(["--rm", "remove"], is_flag=True, help="Delete the job at its end."),
    ]
    return [*own, *(parameter for parameter in found if parameter.name not in _GLOBAL)]


_BASE = command_for(known_kinds()["pytorch"])
_GLOBAL = frozenset(option.name for option in SubmitCommand("x").params)
command = SubmitCommand("run", callback=run, params=_params(), help=run.__doc__, epilog=_BASE.epilog)
command.kind = _BASE.kind
