"""The operator: every installed kind, one process, `kubedl operator`.

Run outside a cluster with --kubeconfig. With leader election a second one waits with full caches.
"""

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial

import structlog

from kubedl.api.cache import CACHE_BACKENDS
from kubedl.api.training import BY_CACHE, GROUP, cache_key
from kubedl.cache import controller as caching
from kubedl.kube import credentials, watch
from kubedl.kube.client import Client
from kubedl.kube.limiter import Limiter
from kubedl.kube.watch import Scope
from kubedl.main import alarm, findings, modelling, policies, serving
from kubedl.main.caching import Followed, add_caching
from kubedl.main.population import population
from kubedl.runtime import health
from kubedl.runtime.controller import Controller
from kubedl.runtime.events import Recorder
from kubedl.runtime.gate import Gate
from kubedl.runtime.leader import Election, Timing
from kubedl.runtime.manager import Lead, Manager
from kubedl.runtime.metrics import Metrics
from kubedl.runtime.store import BY_OWNER, Store
from kubedl.runtime.writer import Writer
from kubedl.schema.rbac import FOLLOW, READ, Grant
from kubedl.training import labels
from kubedl.training.addons.board_controller import BoardController
from kubedl.training.controller import Caches, JobController
from kubedl.training.job_metrics import JobMetrics
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds
from kubedl.training.pace import Pace
from kubedl.training.snapshot import Settings
from kubedl.wire.core import NODES, PODS, SERVICES, Node, Pod
from kubedl.wire.meta import Key

LEASE = "kubedl-operator"
LOG_LEVELS = ("debug", "info", "warning", "error")

_PLURALS = tuple(kind.plural for kind in all_kinds())
GRANTS = (
    Grant(GROUP, _PLURALS, (*FOLLOW, "delete"), "Follow jobs, and delete those whose time after the end is over."),
    Grant(GROUP, tuple(f"{plural}/status" for plural in _PLURALS), ("patch",), "Say how jobs are."),
    # Needed where the admission plugin OwnerReferencesPermissionEnforcement is on.
    Grant(GROUP, tuple(f"{plural}/finalizers" for plural in _PLURALS), ("update",), "Own what belongs to a job."),
    Grant("", ("pods",), (*READ, "create", "delete"), "The replicas of jobs."),
    Grant("", ("services",), (*READ, "create"), "The names of replicas."),
    Grant("", ("services",), ("delete",), "TensorBoards whose time is over."),
    Grant("", ("nodes",), FOLLOW, "Notice nodes that are lost.", cluster_scoped=True),
    Grant("", ("events",), ("get", "create", "patch"), "Tell people what happened."),
    Grant("", ("events",), ("list",), "Say why the pods of a job do not start."),
    *(grant for kind in all_kinds() for grant in kind.grants),
    *caching.GRANTS,
    *modelling.GRANTS,
    *serving.GRANTS,
    Grant("coordination.k8s.io", ("leases",), ("create",), "Elect one operator that writes.", own_namespace=True),
    Grant(
        "coordination.k8s.io",
        ("leases",),
        ("get", "patch"),
        "Elect one operator that writes.",
        names=(LEASE,),
        own_namespace=True,
    ),
)

log = structlog.get_logger()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until told to stop."""
    options = parser().parse_args(arguments)
    if options.without_cluster_role and not options.namespace:
        parser().error("--without-cluster-role needs --namespace: nobody can follow every namespace with Roles alone")
    if options.without_cluster_role and options.efs_file_systems.allowed:
        parser().error("--efs-file-systems needs a ClusterRole: a PersistentVolume is in no namespace")
    _configure_log(options.log_format, options.log_level)
    try:
        asyncio.run(_serve(options))
    except credentials.CredentialsError as error:
        print(f"kubedl operator: {error}", file=sys.stderr)
        return 2
    return 0


def parser() -> argparse.ArgumentParser:
    """What an administrator may set; the chart's values and the reference page follow from it."""
    made = argparse.ArgumentParser(prog="kubedl operator", description=__doc__)
    made.add_argument("--kubeconfig", help="run outside the cluster, as the current context of this file")
    made.add_argument("--namespace", default="", help="serve this namespace only (default: all)")
    made.add_argument(
        "--without-cluster-role",
        action="store_true",
        help="there are Roles only: lost nodes are not noticed, and models cannot lie in AWS EFS",
    )
    made.add_argument(
        "--address", default=health.ADDRESS, help="of /healthz, /readyz and /metrics (host *: every address)"
    )
    made.add_argument("--no-leader-election", action="store_true", help="this is the only operator, for sure")
    made.add_argument("--lease-namespace", help="where the Lease is (default: the operator's own namespace)")
    made.add_argument("--lease-seconds", type=float, default=15, help="how long the others wait for a silent leader")
    made.add_argument(
        "--lease-renew-seconds", type=float, default=10, help="a leader that cannot renew for so long exits"
    )
    made.add_argument("--lease-retry-seconds", type=float, default=2, help="between two looks at the lease")
    made.add_argument(
        "--watch-silence-seconds",
        type=float,
        default=watch.SILENCE,
        help="a watch that is silent for so long is broken",
    )
    made.add_argument(
        "--workers",
        type=int,
        default=64,
        help="jobs of a kind and a namespace that are worked on at once; of all namespaces, twice as many",
    )
    made.add_argument("--calls-per-second", type=float, default=0, help="limit of calls to the API server (0: none)")
    made.add_argument("--calls-burst", type=int, default=200, help="calls that may come at once, under a limit")
    made.add_argument(
        "--node-grace-seconds",
        type=float,
        default=60,
        help="how long a lost node may come back before pods are replaced",
    )
    made.add_argument(
        "--max-lost-nodes-percent",
        type=float,
        default=Settings.max_lost_nodes_percent,
        help="when more nodes than this share of all are lost at once (at least 3, or all), no pod there is replaced",
    )
    made.add_argument(
        "--settle-seconds",
        type=float,
        default=60,
        help="where all replicas restart together: how long an ordinary exit waits for silent peers to explain it",
    )
    made.add_argument("--cluster-domain", default="cluster.local", help="the cluster's DNS domain")
    made.add_argument(
        "--git-image",
        default=Settings.git_image,
        help="image with git and sh that fetches code for jobs which name none; pin it to a version",
    )
    made.add_argument(
        "--packer-image",
        default=modelling.PACKER_IMAGE,
        help="image that makes images of models, and loads them; pin it to the operator's own version",
    )
    policies.add_options(made)
    serving.add_options(made)
    made.add_argument(
        "--log-format", choices=("json", "console"), default="json", help="for machines, or for people at a terminal"
    )
    made.add_argument(
        "--log-level", choices=LOG_LEVELS, default="info", help="what is said at all: this, and what is worse"
    )
    return made


async def _serve(options: argparse.Namespace) -> None:
    identity = credentials.load(options.kubeconfig)
    metrics = Metrics()
    # Renewing the lease must not queue behind the writes that it allows.
    lease_client = Client(identity, told=metrics.made, sockets=2)
    lease = Key(options.lease_namespace or identity.namespace, lease_name(options.namespace))
    timing = Timing(options.lease_seconds, options.lease_renew_seconds, options.lease_retry_seconds)
    election = Election(lease_client, lease, timing=timing, changed=metrics.leading)
    limiter = Limiter(options.calls_per_second, options.calls_burst)
    client = Client(identity, limiter=limiter, told=metrics.made, before_write=election.check)
    manager = Manager(client, silence=options.watch_silence_seconds)
    recorder = Recorder(client, dropped=metrics.event_dropped)
    _assemble(options, manager, recorder, metrics)
    manager.beside(recorder.run)
    manager.beside(metrics.watch_loop_lag)
    manager.beside(lambda: findings.tell(client, options, options.namespace or identity.namespace, _print))
    try:
        async with health.serve(
            options.address, dead=lambda: (), missing=manager.missing, metrics=metrics.render
        ) as address:
            log.info("started", kinds=[kind.kind for kind in all_kinds()], address=address, pid=os.getpid())
            elected = partial(_lead_at_once, metrics) if options.no_leader_election else election.run
            with alarm.ringing(election.check):
                await _until_told(manager.run(elected))
    finally:
        await client.close()
        await lease_client.close()


def _assemble(options: argparse.Namespace, manager: Manager, recorder: Recorder, metrics: Metrics) -> None:
    everywhere = Scope(options.namespace)
    ours = Scope(options.namespace, labels=labels.JOB_NAME)
    pods = manager.cache(PODS, ours, {"node": _node}, remember=BY_OWNER)
    services = manager.cache(SERVICES, ours)
    nodes: Store[Node] = Store() if options.without_cluster_role else manager.cache(NODES)
    backends = manager.cache(CACHE_BACKENDS, everywhere)
    followed: Followed = {}
    settings = Settings(
        node_grace=timedelta(seconds=options.node_grace_seconds),
        max_lost_nodes_percent=options.max_lost_nodes_percent,
        settle=timedelta(seconds=options.settle_seconds),
        cluster_domain=options.cluster_domain,
        git_image=options.git_image,
        file_systems=options.efs_file_systems,
        omit_user=options.omit_run_as_user,
    )
    told, pace = JobMetrics([kind.kind for kind in all_kinds()], metrics.registry), Pace(_now)
    for kind in all_kinds():
        jobs = manager.cache(kind.resource, everywhere, {BY_CACHE: cache_key})
        followed[kind.resource] = manager.reflectors[-1]
        gate = Gate({kind.resource: jobs, PODS: pods, SERVICES: services})
        writer = Writer(manager.client, gate)
        caches = Caches(jobs, pods, services, nodes, backends)
        handler = JobController(kind, caches, writer, recorder, settings=settings, clock=_now, written=told.written)
        reconcile = pace.around(jobs, handler.reconcile)
        controller = Controller(kind.kind, reconcile, gate=gate, workers=options.workers, observer=metrics)
        controller.watch(jobs, lambda job: (job.metadata.key,))
        controller.watch(pods, handler.job_of)
        controller.watch(services, handler.job_of)
        controller.watch(nodes, handler.jobs_on)
        controller.watch(backends, handler.jobs_using)
        manager.add(_boards(kind, caches, manager, recorder, metrics), jobs, pods, services)
        jobs.subscribe(handler.job_changed)
        pods.subscribe(handler.pod_changed)
        manager.add(controller, jobs, pods, services, nodes)
        metrics.add_queue(kind.kind, lambda queue=controller.queue: len(queue))  # type: ignore[misc]
    add_caching(manager, recorder, metrics, backends, followed, options, _now)
    versions = modelling.add_modelling(manager, recorder, metrics, everywhere, options, _now)
    serving.add_serving(manager, recorder, metrics, everywhere, versions, options, _now)
    metrics.registry.register(population([kind.kind for kind in all_kinds()], manager.reflectors))
    for reflector in manager.reflectors:
        metrics.add_cache(reflector.resource.name, reflector.age, lambda store=reflector.store: len(store))  # type: ignore[misc]


def _boards(kind: Kind, caches: Caches, manager: Manager, recorder: Recorder, metrics: Metrics) -> Controller:
    gate = Gate({PODS: caches.pods, SERVICES: caches.services})
    handler = BoardController(kind, caches, Writer(manager.client, gate), recorder, clock=_now)
    controller = Controller(f"{kind.kind} TensorBoard", handler.reconcile, gate=gate, workers=8, observer=metrics)
    controller.watch(caches.jobs, handler.job_with_board)
    controller.watch(caches.pods, handler.job_of)
    controller.watch(caches.services, handler.job_of)
    metrics.add_queue(controller.name, lambda: len(controller.queue))
    return controller


def lease_name(namespace: str | None) -> str:
    """Operators of different namespaces must not wait for each other, wherever their Leases are."""
    return f"{LEASE}-{namespace}" if namespace else LEASE


def _node(pod: Pod) -> str | None:
    return pod.spec.node_name or None


def _print(text: str) -> None:
    """For people who read the log of a pod; the log itself goes to standard error."""
    print(text, flush=True)


def _now() -> datetime:
    return datetime.now(UTC)


async def _lead_at_once(metrics: Metrics, lead: Lead) -> None:
    metrics.leading(True)
    await lead()


async def _until_told(work: Awaitable[None]) -> None:
    """Run until SIGTERM or SIGINT, then end what runs in good order."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task


def _configure_log(form: str, level: str) -> None:
    renderer: Callable[..., str | bytes] = (
        structlog.processors.JSONRenderer() if form == "json" else structlog.dev.ConsoleRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


if __name__ == "__main__":
    sys.exit(main())
