"""`kubedl history logs`: logs of pods that are gone, from the storage that the recorder archives them in."""

from typing import TYPE_CHECKING

import click

from kubedl.cli import configuration
from kubedl.cli.history_database import history, options
from kubedl.cli.settings import Settings, declare

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kubedl.client.log_line import LogLine
    from kubedl.history.queries.logs import LogRecord

REGION = "us-east-1"
HOW = "docs/how-to/archive-logs.md"


@declare("logs", short_help="Print archived logs")
@click.argument("name", metavar="JOB")
@click.option("-i", "--replica", "wanted", multiple=True, metavar="REPLICA", help="worker-0, or worker for all.")
@click.option("--all-attempts", is_flag=True, help="Of every attempt; by default of each replica's last.")
@click.option("--locations", is_flag=True, help="Print where the logs are, and read none.")
@click.option("--endpoint", metavar="URL", help="Address of the storage; by default the setting logs-endpoint.")
@click.option("--region", metavar="NAME", help=f"Its region; by default the setting logs-region, or {REGION}.")
@options
def command(  # noqa: PLR0913, PLR0917 - a parameter for each flag
    settings: Settings,
    name: str,
    wanted: tuple[str, ...],
    all_attempts: bool,
    locations: bool,
    endpoint: str | None,
    region: str | None,
    database_file: str | None,
    history_cluster: str | None,
) -> None:
    """Print the logs of the newest job of a name, also if its pods are gone.

    The recorder must have archived them. AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY have the access key.
    """
    from kubedl.cli.log_printer import LogPrinter
    from kubedl.client.errors import NotFound

    pods = history(settings, database_file, history_cluster).logs(name.rpartition("/")[2])
    chosen = _chosen(pods, wanted, all_attempts=all_attempts)
    stored = [one for one in chosen if one.log_location]
    if not stored:
        what = (
            f"no log of {name} is archived"
            if chosen or not wanted
            else f"{name} has no pods called {', '.join(wanted)}"
        )
        steps = (f"kubedl logs {name}, while its pods are there", f"archive them: {HOW}")
        raise NotFound(what, "the recorder archives logs when their containers have ended", steps)
    if locations:
        for one in stored:
            click.echo(f"{_replica(one)}  {one.log_location}")
        return
    printer = LogPrinter(settings.terminal(), timestamps=False)
    for one in chosen:
        if not one.log_location:
            printer.note(f"no log of {_replica(one)} (attempt {one.attempt}) is archived")
            continue
        for line in _lines(one, _endpoint(endpoint), region or configuration.text("logs-region") or REGION):
            printer.write(line)


def _replica(one: "LogRecord") -> str:
    return f"{one.role.lower()}-{one.replica_index}"


def _chosen(pods: "Sequence[LogRecord]", wanted: tuple[str, ...], *, all_attempts: bool) -> "list[LogRecord]":
    """Return the pods whose logs are asked for, by replica, and those of a replica by age."""
    asked = {one.lower() for one in wanted}
    found = [one for one in pods if not asked or asked & {_replica(one), one.role.lower(), one.name}]
    if not all_attempts:
        found = list({_replica(one): one for one in found}.values())
    return sorted(found, key=lambda one: (one.role, one.replica_index, one.created))


def _endpoint(given: str | None) -> str:
    found = given or configuration.text("logs-endpoint")
    if not found:
        raise click.UsageError(
            "where the logs are stored is not known here\nnext  --endpoint URL, or kubedl config set logs-endpoint URL"
        )
    return found


def _lines(one: "LogRecord", endpoint: str, region: str) -> "Iterator[LogLine]":
    from kubedl.client.errors import KubedlError, NotFound, Unreachable
    from kubedl.client.log_line import LogLine
    from kubedl.history.logs.bucket_settings import BucketError, BucketSettings, BucketSettingsError, credentials_from
    from kubedl.history.logs.stored_log import LogMissingError, read_lines, split_location

    try:
        bucket, key = split_location(str(one.log_location))
        authority = configuration.text("logs-ca-file") or ""
        settings = BucketSettings(endpoint, bucket, region=region, authority=authority)
        for text in read_lines(settings, key, credentials_from()):
            yield LogLine.of(text, _replica(one), 0, attempt=one.attempt)
    except BucketSettingsError as error:
        raise KubedlError("the storage of logs cannot be asked", str(error), (f"see {HOW}",)) from error
    except LogMissingError as error:
        why = f"{error}; a lifecycle rule of the bucket may have deleted it"
        raise NotFound(
            f"the log of {_replica(one)} is not in the storage any more", why, (str(one.log_location),)
        ) from error
    except BucketError as error:
        steps = ("check --endpoint and the access key",)
        raise Unreachable(f"the log of {_replica(one)} cannot be read", str(error), steps) from error
