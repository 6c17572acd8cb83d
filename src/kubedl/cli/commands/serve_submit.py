"""`kubedl serve submit`."""

from typing import Any

import click

from kubedl.cli.dry_run import DryRunCommand
from kubedl.cli.serve import arena
from kubedl.cli.serve.flags import ServeFlags, serve_options
from kubedl.cli.settings import Settings
from kubedl.cli.submit.arena import translate

WORDS = ("tfserving", "triton", "mlserver", "vllm", "custom")


class Framework(click.ParamType[str]):
    """A server, also by Arena's word for it."""

    name = "framework"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401
        word = str(value).lower()
        if word in arena.NO_FRAMEWORKS:
            raise click.UsageError(f"serve submit {value} is not here\nnext  {arena.NO_FRAMEWORKS[word]}", ctx)
        if word not in arena.FRAMEWORKS:
            raise click.UsageError(f"there is no server called {str(value)[:63]}\nnext  {', '.join(WORDS)}", ctx)
        return arena.FRAMEWORKS[word]


class ServeSubmit(DryRunCommand):
    """A command that understands flags by their names in Arena."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = frozenset(name for parameter in self.params for name in parameter.opts)
        try:
            words, hints = translate(args, known, arena.RENAMED, arena.REFUSED)
        except click.UsageError as error:
            error.ctx = ctx
            raise
        if hints:
            click.echo(f"hint: {', '.join(hints)} (both work)", err=True)
        return super().parse_args(ctx, words)


def submit(settings: Settings, dry_run: str, output: str | None, **flags: Any) -> None:  # noqa: ANN401 - of ServeFlags
    """Create a service (an Inference) with one predictor.

    FRAMEWORK is tfserving, triton, mlserver, vllm or custom. The operator adds what the server needs to find its
    ModelVersion. Words after -- that begin with a dash are arguments of the server; others are the command.
    """
    from kubedl.cli.rows import print_one
    from kubedl.cli.serve.manifest import service_manifest
    from kubedl.client import AlreadyExists
    from kubedl.client.objects import INFERENCES

    manifest = service_manifest(ServeFlags(**flags))
    if dry_run == "client":
        if settings.namespace:
            manifest["metadata"]["namespace"] = settings.namespace
        print_one(manifest, output or "yaml", "inference")
        return
    name = manifest["metadata"]["name"]
    with settings.client() as client:
        try:
            made = client.objects.create(INFERENCES, manifest, dry_run=dry_run == "server")
        except AlreadyExists as error:
            steps = (f"--name {name}-2", f"kubedl serve get {name}", f"kubedl serve delete {name}")
            why = "a name is free again when its service is deleted"
            raise AlreadyExists(f"{name} is taken: service in {client.namespace}", why, steps) from error
    if output:
        print_one(made, output, "inference")
        return
    namespace = made["metadata"]["namespace"]
    click.echo(f"inference/{name} {'would be created' if dry_run == 'server' else 'created'} in {namespace}")
    if dry_run == "none":
        click.echo(f"kubedl serve get {name} shows when it is ready", err=True)


command = ServeSubmit(
    "submit",
    callback=submit,
    help=submit.__doc__,
    short_help="Serve a model",
    params=[
        click.Argument(["framework"], type=Framework(), metavar="FRAMEWORK"),
        click.Argument(["command"], nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND]"),
        *serve_options(),
        click.Option(["-o", "--output"], type=click.Choice(("json", "yaml", "name")), help="Print the service."),
    ],
    dry_run_help="Create nothing: print the manifest (client, the default), or let the server check it.",
)
