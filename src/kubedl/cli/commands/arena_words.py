"""Commands by the words of Arena that are others here: `scalein etjob`, `scaleout etjob`, `cron tfjob`."""

from collections.abc import Callable
from typing import Any

import click

from kubedl.cli.durations import Duration
from kubedl.cli.rows import FORMATS
from kubedl.cli.settings import Command, Settings, declare, global_options

_SCRIPT = "Arena runs a script in the pods; here pods that run start anew"


def _callback(command: click.Command) -> Callable[..., Any]:
    """Return the function of a command."""
    if command.callback is None:
        raise TypeError(f"{command.name} does nothing")
    return command.callback


def _scale_command(sign: int) -> click.Command:
    """Return the command that adds workers, or takes some away."""

    def scale(
        settings: Settings,
        name: str,
        count: int,
        script: str | None,
        retry: int | None,
        env: tuple[str, ...],
        yes: bool,
    ) -> None:
        from kubedl.cli.commands.scale import command
        from kubedl.client import scaling

        for flag, value in (("--script", script), ("--retry", retry), ("--env", env)):
            if value:
                raise click.UsageError(f"{flag}: {_SCRIPT}\nnext  leave it out")
        with settings.client() as client:
            workers = scaling.count(client.get_job(name)) + sign * count
        if workers < 0:
            raise click.UsageError(f"{name} has {workers + count} workers\nnext  --count {workers + count}")
        click.echo(f"hint: this is now kubedl scale {name} --workers {workers} (both work)", err=True)
        _callback(command)(settings, name=name, workers=workers, yes=yes)

    options: list[click.Parameter] = [
        click.Option(["--name"], required=True, metavar="JOB", help="Job to change."),
        click.Option(["--count"], type=click.IntRange(1, 10_000), default=1, metavar="N", help="How many workers."),
        click.Option(["-t", "--timeout"], type=Duration(), expose_value=False, help="Of the script of Arena."),
        click.Option(["--script"], hidden=True),
        click.Option(["--retry"], type=int, hidden=True),
        click.Option(["-e", "--env"], multiple=True, hidden=True),
        click.Option(["-y", "--yes"], is_flag=True, help="Do not ask, although pods that run start anew."),
    ]
    return Command(
        "etjob", callback=scale, params=options, help="Change the number of workers, as `kubedl scale` does."
    )


def _group(name: str, made: Callable[[], click.Command]) -> click.Group:
    return click.Group(name, commands={word: made() for word in ("etjob", "et")}, params=global_options())


scalein = _group("scalein", lambda: _scale_command(-1))
scaleout = _group("scaleout", lambda: _scale_command(+1))


@declare("tfjob", context_settings={"ignore_unknown_options": True})
@click.argument("words", metavar="[FLAGS] [COMMAND]", nargs=-1, type=click.UNPROCESSED)
@click.option("--name", required=True, metavar="NAME", help="Name of the cron.")
@click.option("--schedule", required=True, metavar="CRON", help="Five fields, or six with the second 0.")
@click.option("--concurrency-policy", type=click.Choice(("Allow", "Forbid", "Replace")), help="While a run is active.")
@click.option("--suspend", is_flag=True, help="Start no runs yet.")
@click.option("--deadline", metavar="TIME", help="No runs after it.")
@click.option("--history-limit", type=click.IntRange(0), metavar="N", help="Finished runs to keep.")
@click.option("--dry-run", is_flag=True, help="Print the manifest and create nothing.")
@click.option("-o", "--output", type=FORMATS, help="Print the cron.")
def cron_tfjob(settings: Settings, name: str, words: tuple[str, ...], schedule: str, **others: Any) -> None:  # noqa: ANN401
    """Create a cron of a TFJob: the flags are those of `submit tf`, and those of `cron create`."""
    from kubedl.cli.commands.cron import create_command
    from kubedl.cli.submit.arena import five_fields

    click.echo("hint: this is now kubedl cron create NAME --schedule … -- submit tf … (both work)", err=True)
    inner = ("submit", "tf", *words)
    _callback(create_command)(
        settings, name=name, words=inner, schedule=five_fields(schedule), time_zone=None, **others
    )
