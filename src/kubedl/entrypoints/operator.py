"""The operator: all installed kinds in one process, `kubedl operator`.

Run it outside a cluster with --kubeconfig. With leader election, a standby waits with synced informer caches.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

import structlog

from kubedl.api.cachebackend import CACHE_BACKENDS
from kubedl.cron import setup as cron
from kubedl.cron.grants import cron_grants
from kubedl.datasets import grants as datasets_grants
from kubedl.datasets import setup as datasets
from kubedl.entrypoints import cluster_report, policy_flags
from kubedl.entrypoints.object_metrics import object_metrics
from kubedl.entrypoints.process import collect_seldom, configure_log, until_signalled
from kubedl.kube import credentials, watch
from kubedl.kube.client import Client
from kubedl.kube.kubeconfig import CredentialsError
from kubedl.kube.rate_limiter import OwnPauses, RateLimiter
from kubedl.kube.types.meta import ObjectKey
from kubedl.models import grants as models_grants
from kubedl.models import setup as models
from kubedl.runtime import health, lease_timer
from kubedl.runtime.context import Context
from kubedl.runtime.events import EventRecorder
from kubedl.runtime.leader_election import LeaderElector, Timing
from kubedl.runtime.manager import Lead, Manager
from kubedl.runtime.metrics import Metrics
from kubedl.schema.grants import Grant
from kubedl.serving import grants as serving_grants
from kubedl.serving import setup as serving
from kubedl.training import grants as training_grants
from kubedl.training import setup as training
from kubedl.training.kinds import all_kinds

LEASE = "kubedl-operator"
LOG_LEVELS = ("debug", "info", "warning", "error")

GRANTS = (
    *training_grants.GRANTS,
    *datasets_grants.GRANTS,
    *cron_grants(kind.plural for kind in all_kinds()),
    *models_grants.GRANTS,
    *serving_grants.GRANTS,
    Grant("", ("events",), ("get", "create", "patch"), "Record events."),
    Grant("coordination.k8s.io", ("leases",), ("create",), "Leader election.", own_namespace=True),
    Grant(
        "coordination.k8s.io",
        ("leases",),
        ("get", "patch"),
        "Leader election.",
        names=(LEASE,),
        own_namespace=True,
    ),
)

log = structlog.get_logger()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT."""
    options = parser().parse_args(arguments)
    if options.without_cluster_role and not options.namespace:
        parser().error("--without-cluster-role requires --namespace: Roles cannot grant access to all namespaces")
    if options.without_cluster_role and options.efs_file_systems.allowed:
        parser().error("--efs-file-systems requires a ClusterRole: PersistentVolumes are cluster-scoped")
    if options.workers < 1:
        parser().error("--workers must be at least 1: no job would be reconciled")
    try:
        _timing(options)
    except ValueError as error:
        parser().error(f"--lease-seconds, --lease-renew-seconds, --lease-retry-seconds: {error}")
    configure_log(options.log_format, options.log_level)
    collect_seldom()
    try:
        asyncio.run(_serve(options))
    except (CredentialsError, OSError) as error:  # such as an address that is in use
        print(f"kubedl operator: {error}", file=sys.stderr)
        return 2
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; the chart's values and the reference page are generated from it."""
    parser = argparse.ArgumentParser(prog="kubedl operator", description=__doc__)
    parser.add_argument("--kubeconfig", help="run outside the cluster with the current context of this kubeconfig")
    parser.add_argument("--namespace", default="", help="watch this namespace only (default: all)")
    parser.add_argument(
        "--without-cluster-role",
        action="store_true",
        help="run with Roles only: lost nodes are not detected, and AWS EFS is not available for models",
    )
    parser.add_argument(
        "--address",
        default=health.ADDRESS,
        help="bind address of /healthz, /readyz and /metrics (host *: all addresses)",
    )
    parser.add_argument(
        "--no-leader-election", action="store_true", help="disable leader election; run a single replica only"
    )
    parser.add_argument("--lease-namespace", help="namespace of the Lease (default: the operator's own)")
    parser.add_argument(
        "--lease-seconds", type=float, default=15, help="seconds until a standby takes over a lease that is not renewed"
    )
    parser.add_argument(
        "--lease-renew-seconds",
        type=float,
        default=10,
        help="seconds after which a leader that cannot renew its lease exits",
    )
    parser.add_argument(
        "--lease-retry-seconds", type=float, default=2, help="seconds between attempts to acquire or renew the lease"
    )
    parser.add_argument(
        "--watch-silence-seconds",
        type=float,
        default=watch.SILENCE,
        help="seconds without data after which a watch is reconnected",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=64,
        help="concurrent reconciles per kind and namespace; twice as many over all namespaces",
    )
    parser.add_argument(
        "--calls-per-second", type=float, default=0, help="limit of API requests per second (0: no limit)"
    )
    parser.add_argument("--calls-burst", type=int, default=200, help="burst of API requests above the limit")
    parser.add_argument("--cluster-domain", default="cluster.local", help="DNS domain of the cluster")
    training.add_options(parser)
    models.add_options(parser)
    policy_flags.add_options(parser)
    serving.add_options(parser)
    parser.add_argument(
        "--log-format", choices=("json", "console"), default="json", help="log format; console is for terminals"
    )
    parser.add_argument("--log-level", choices=LOG_LEVELS, default="info", help="lowest log level")
    return parser


async def _serve(options: argparse.Namespace) -> None:
    identity = credentials.load(options.kubeconfig)
    metrics = Metrics()
    # A separate client: lease renewals must not queue behind the writes that they permit.
    lease_client = Client(identity, on_request=metrics.observe_request, sockets=2)
    lease = ObjectKey(options.lease_namespace or identity.namespace, lease_name(options.namespace))
    election = LeaderElector(lease_client, lease, timing=_timing(options), changed=metrics.leading)
    limiter = RateLimiter(options.calls_per_second, options.calls_burst)
    client = Client(identity, limiter=limiter, on_request=metrics.observe_request, before_write=election.check)
    # A separate client: where events are limited (EventRateLimit), a 429 for one must not make all other requests wait.
    event_client = Client(
        identity,
        limiter=OwnPauses(limiter),
        on_request=metrics.observe_request,
        before_write=election.check,
        sockets=2,
    )
    manager = Manager(client, silence=options.watch_silence_seconds)
    recorder = EventRecorder(event_client, dropped=metrics.event_dropped)
    _setup(Context(manager, recorder, metrics, options, _now))
    manager.add_runnable(recorder.run)
    manager.add_runnable(metrics.watch_loop_lag)
    manager.add_runnable(
        lambda: cluster_report.publish(client, options, options.namespace or identity.namespace, _print)
    )
    try:
        async with health.serve(
            options.address, dead=lambda: (), missing=manager.unsynced, metrics=metrics.render
        ) as address:
            log.info("started", kinds=[kind.kind for kind in all_kinds()], address=address, pid=os.getpid())
            elected = partial(_lead_at_once, metrics) if options.no_leader_election else election.run
            with lease_timer.lease_timer(election.check):
                await until_signalled(manager.run(elected))
    finally:
        await client.close()
        await event_client.close()
        await lease_client.close()


def _setup(context: Context) -> None:
    """Set up every feature; some share informers."""
    manager, metrics = context.manager, context.metrics
    backends = manager.informer(CACHE_BACKENDS, context.scope())
    jobs = training.setup(context, backends)
    datasets.setup(context, backends, jobs)
    cron.setup(context, jobs)
    versions = models.setup(context)
    serving.setup(context, versions)
    metrics.registry.register(object_metrics([resource.kind for resource in jobs], manager.reflectors))
    for informer in manager.reflectors:
        metrics.add_cache(informer.resource.name, informer.age, informer.store.__len__)


def _timing(options: argparse.Namespace) -> Timing:
    return Timing(options.lease_seconds, options.lease_renew_seconds, options.lease_retry_seconds)


def lease_name(namespace: str | None) -> str:
    """Return the name of the Lease. Operators of different namespaces must not compete for one Lease."""
    return f"{LEASE}-{namespace}" if namespace else LEASE


def _print(text: str) -> None:
    """Print the report to standard output; the log goes to standard error."""
    print(text, flush=True)


def _now() -> datetime:
    return datetime.now(UTC)


async def _lead_at_once(metrics: Metrics, lead: Lead) -> None:
    metrics.leading(True)
    await lead()


if __name__ == "__main__":
    sys.exit(main())
