"""`kubedl rerun`."""

import copy
import sys
from typing import TYPE_CHECKING, Any

import click

from kubedl.cli.completing import JobName
from kubedl.cli.dry_run import DryRunCommand
from kubedl.cli.durations import Duration
from kubedl.cli.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubedl.client import Job, TrainingClient


@click.command(
    "rerun",
    cls=DryRunCommand,
    short_help="Submit a job again",
    dry_run_help="Create nothing: print the manifest (client, the default), or let the server check it.",
)
@click.argument("name", metavar="JOB", type=JobName())
@click.option("--name", "new_name", metavar="NAME", help="Its name; by default JOB-r2, or the next that is free.")
@click.option("--replace", is_flag=True, help="Delete the job, and create it anew under its own name.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="FLAG=VALUE",
    help="A flag of `submit`, such as memory=96Gi; an empty value takes it away. May be repeated.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask, although a job that runs is deleted.")
@click.option("--wait", is_flag=True, help="Follow the job to its end, and end with its exit code.")
@click.option("--timeout", type=Duration(), metavar="DURATION", help="How long to --wait; exit code 124.")
@click.option("-o", "--output", type=click.Choice(("json", "yaml", "name")), help="Print the job.")
def command(settings: Settings, name: str, **flags: Any) -> int:  # noqa: ANN401 - the values of the flags
    """Submit a job again, as it was or with changes. JOB may be KIND/NAME, and may still run.

    Code that `kubedl run` sent with it is used again.
    """
    if flags["replace"] and flags["new_name"]:
        raise click.UsageError("--replace keeps the name, --name gives another\nnext  one of them")
    if flags["timeout"] is not None and not flags["wait"]:
        raise click.UsageError("--timeout needs --wait\nnext  add --wait")
    from kubedl.cli import failures, following
    from kubedl.client import Forbidden, Invalid

    with settings.client() as client:
        job = client.get_job(name)
        manifest = _changed(job, flags["changes"])
        if flags["dry_run"] == "client":
            _print_manifest(next(_named(job, manifest, flags)), flags["output"])
            return 0
        try:
            made = _send(client, job, manifest, flags)
        except (Invalid, Forbidden) as error:
            failures.print_error(error.message, error.why, error.next)
            return failures.NEVER_RAN if flags["wait"] else failures.REFUSED
        _say(made, flags["output"], would=flags["dry_run"] == "server")
    if not flags["wait"] or flags["dry_run"] == "server":
        return 0
    waited = following.Waited("complete", flags["timeout"], shows_phases=True)
    return following.wait_for_all(settings, [f"{made.word}/{made.name}"], waited)


def _changed(job: "Job", changes: tuple[str, ...]) -> dict[str, Any]:
    from kubedl.client.rerunning import copy_of

    manifest = copy_of(job)
    if changes:
        from kubedl.cli.submit.overrides import override

        override(manifest, changes)
    return manifest


def _named(job: "Job", manifest: dict[str, Any], flags: dict[str, Any]) -> "Iterator[dict[str, Any]]":
    """Yield the manifest under each name that it may have."""
    from kubedl.client.rerunning import names_after, renamed

    keeps = flags["replace"] and flags["dry_run"] != "server"  # the server would say that the name is taken
    names = iter([flags["new_name"] or job.name]) if flags["new_name"] or keeps else names_after(job.name)
    return (renamed(copy.deepcopy(manifest), name) for name in names)


def _send(client: "TrainingClient", job: "Job", manifest: dict[str, Any], flags: dict[str, Any]) -> "Job":
    from kubedl.client import rerunning

    if not flags["replace"] or flags["dry_run"] == "server":
        return client.create_free_job(_named(job, manifest, flags), dry_run=flags["dry_run"] == "server")
    if not flags["yes"] and not job.is_finished:
        if not sys.stdin.isatty():
            raise click.UsageError(
                f"{job.name} has not ended, and would be deleted\nnext  add -y, or leave out --replace"
            )
        click.confirm(f"{job.name} has not ended. Delete it and start anew?", abort=True, err=True)
    client.create_job(rerunning.renamed(copy.deepcopy(manifest), rerunning.unlikely_name(job)), dry_run=True)
    return client.replace_job(job, manifest)


def _print_manifest(manifest: dict[str, Any], output: str | None) -> None:
    from kubedl.cli.structured import print_object

    if output == "name":
        click.echo(f"{manifest['kind'].lower()}/{manifest['metadata']['name']}")
    else:
        print_object(manifest, output or "yaml")


def _say(job: "Job", output: str | None, *, would: bool) -> None:
    from kubedl.cli.structured import applicable, print_object

    if output == "name":
        click.echo(str(job))
    elif output:
        print_object(applicable(job.manifest), output)
    else:
        click.echo(f"{job} {'would be created' if would else 'created'} in {job.namespace}")
