"""The recorder of the history, `kubedl recorder`: a process of its own beside the operator, which needs neither.

`kubedl recorder migrate` creates or upgrades the tables; `kubedl recorder run` records.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from kubedl.entrypoints.process import collect_seldom, configure_log, until_signalled
from kubedl.entrypoints.recorded_kinds import LEASE, recorded_kinds
from kubedl.entrypoints.recorder_logs import add_options, archiving
from kubedl.entrypoints.recorder_sinks import UnknownSinkError, sink
from kubedl.history import engine, migrate
from kubedl.history.logs.bucket_settings import BucketSettingsError
from kubedl.history.maintenance import Maintenance
from kubedl.history.price_book import PriceBook, PriceBookError, PriceBookFile
from kubedl.history.receipts import Receipts
from kubedl.history.recorder import Recorder, Settings
from kubedl.history.recorder_metrics import RecorderMetrics
from kubedl.history.sink import Epoch, FencedError, Sink
from kubedl.history.sinks.database import DatabaseSink
from kubedl.history.sinks.otlp import OtlpError
from kubedl.kube import credentials, watch
from kubedl.kube.client import Client
from kubedl.kube.kubeconfig import CredentialsError
from kubedl.kube.types.meta import ObjectKey
from kubedl.runtime import health, lease_timer
from kubedl.runtime.leader_election import LeaderElector, Timing
from kubedl.runtime.metrics import Metrics

LOG_LEVELS = ("debug", "info", "warning", "error")

# Errors whose message says what to do.
_EXPLAINED = (
    BucketSettingsError,
    CredentialsError,
    engine.DatabaseUrlError,
    migrate.SchemaError,
    OSError,
    OtlpError,
    PriceBookError,
    UnknownSinkError,
)

log = structlog.get_logger()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT, or migrate and exit."""
    options = parser().parse_args(arguments)
    configure_log(options.log_format, options.log_level)
    collect_seldom()
    try:
        asyncio.run(_migrate(options) if options.command == "migrate" else _record(options))
    except BaseExceptionGroup as group:
        return _explained(group)
    except _EXPLAINED as error:
        print(f"kubedl recorder: {error}", file=sys.stderr)
        return 2
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="kubedl recorder", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    migration = commands.add_parser("migrate", help="create or upgrade the tables of the database")
    run = commands.add_parser("run", help="record until stopped")
    for command in (migration, run):
        command.add_argument(
            "--database-file",
            help=f"file with the URL of the database (default: the environment variable {engine.ENVIRONMENT})",
        )
        command.add_argument(
            "--log-format", choices=("json", "console"), default="json", help="log format; console is for terminals"
        )
        command.add_argument("--log-level", choices=LOG_LEVELS, default="info", help="lowest log level")
    _add_run_options(run)
    return parser


def _add_run_options(run: argparse.ArgumentParser) -> None:
    run.add_argument("--cluster", required=True, help="name of this cluster in the database; never change it")
    run.add_argument("--kubeconfig", help="run outside the cluster with the current context of this kubeconfig")
    run.add_argument("--namespace", default="", help="record this namespace only, with Roles only (default: all)")
    run.add_argument(
        "--sink",
        action="append",
        default=[],
        help="additional sink: jsonl prints each row, jsonl:FILE appends it, otlp:URL sends it to an OpenTelemetry "
        "collector; others come from packages",
    )
    add_options(run)
    run.add_argument(
        "--retention-days", type=int, default=0, help="days after which rows are deleted, by month (0: never)"
    )
    run.add_argument("--price-book", default="", help="YAML file with prices for receipts (default: no costs)")
    run.add_argument("--max-pending", type=int, default=50_000, help="states kept in memory while a sink is down")
    run.add_argument("--address", default=health.ADDRESS, help="bind address of /healthz, /readyz and /metrics")
    run.add_argument("--no-leader-election", action="store_true", help="disable leader election; run one process only")
    run.add_argument("--lease-namespace", help="namespace of the Lease (default: the recorder's own)")
    run.add_argument("--lease-seconds", type=float, default=15, help="seconds until a standby takes over")
    run.add_argument(
        "--lease-renew-seconds", type=float, default=10, help="seconds after which a leader without renewal exits"
    )
    run.add_argument("--lease-retry-seconds", type=float, default=2, help="seconds between renewals")
    run.add_argument(
        "--watch-silence-seconds", type=float, default=watch.SILENCE, help="seconds until a silent watch is reconnected"
    )


async def _migrate(options: argparse.Namespace) -> None:
    database = engine.create_engine(engine.url_from(options.database_file), seconds=None)
    try:
        await migrate.migrate(database)
        log.info("the schema is up to date", revision=migrate.newest_revision())
    finally:
        await database.dispose()


async def _record(options: argparse.Namespace) -> None:
    identity = credentials.load(options.kubeconfig)
    database = engine.create_engine(engine.url_from(options.database_file))
    metrics = Metrics(leader="recorder_leader")
    lease_client = Client(identity, on_request=metrics.observe_request, sockets=2)
    client = Client(identity, on_request=metrics.observe_request)
    name = f"{LEASE}-{options.namespace}" if options.namespace else LEASE
    lease = ObjectKey(options.lease_namespace or identity.namespace, name)
    timing = Timing(options.lease_seconds, options.lease_renew_seconds, options.lease_retry_seconds)
    election = LeaderElector(lease_client, lease, timing=timing, changed=metrics.leading)
    book = PriceBookFile(options.price_book).current if options.price_book else PriceBook
    receipts = Receipts(database, options.cluster, book)
    sinks: list[Sink] = [DatabaseSink(database, options.cluster, options.namespace, receipts.written)]
    sinks += [sink(text, options.cluster) for text in options.sink]
    logs = archiving(options, client, database, metrics.registry, election.check)
    settings = Settings(options.namespace, options.max_pending, options.watch_silence_seconds)
    if logs is not None:
        settings = replace(settings, on_pod=logs.observed)
    recorder = Recorder(
        client,
        recorded_kinds(nodes=not options.namespace),
        sinks,
        RecorderMetrics(metrics.registry),
        settings=settings,
        may_write=election.check,
    )
    maintenance = Maintenance(database, options.cluster, options.retention_days)
    companions = [receipts.run, maintenance.run, *([logs.run] if logs else ())]
    try:
        async with health.serve(
            options.address, dead=lambda: (), missing=recorder.unsynced, metrics=metrics.render
        ) as address:
            log.info("started", cluster=options.cluster, address=address, pid=os.getpid())
            lead = partial(_lead, recorder, election, companions)
            if options.no_leader_election:
                metrics.leading(True)  # an alert looks for a recorder that does
            with lease_timer.lease_timer(election.check):
                await until_signalled(lead() if options.no_leader_election else election.run(lead))
    finally:
        await recorder.close()
        if logs is not None:
            await logs.close()
        await database.dispose()
        await client.close()
        await lease_client.close()


async def _lead(
    recorder: Recorder, election: LeaderElector, companions: Sequence[Callable[[], Coroutine[Any, Any, None]]]
) -> None:
    uid, transitions = election.term
    epoch = Epoch(uid, transitions, election.identity)
    log.info("recording", lease=uid, transitions=transitions)
    async with asyncio.TaskGroup() as group:
        group.create_task(recorder.run(epoch))
        for companion in companions:
            group.create_task(companion())


def _explained(group: BaseExceptionGroup[BaseException]) -> int:
    """Print the errors that say what to do; anything else is a bug, with its traceback."""
    known, rest = group.split((FencedError, migrate.SchemaError))
    if rest is not None:
        raise rest
    for error in _leaves(known):
        print(f"kubedl recorder: {error}", file=sys.stderr)
    return 1


def _leaves(error: BaseException | None) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in _leaves(part)]
    return [error] if error is not None else []


if __name__ == "__main__":
    sys.exit(main())
