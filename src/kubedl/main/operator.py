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

import structlog

from kubedl.api.cache import CACHE_BACKENDS
from kubedl.api.training import BY_CACHE, GROUP, cache_key
from kubedl.cache import controller as caching
from kubedl.kube import credentials, watch
from kubedl.kube.client import Client
from kubedl.kube.limiter import Limiter
from kubedl.kube.watch import Scope
from kubedl.main import modelling
from kubedl.main.caching import Followed, add_caching
from kubedl.runtime import health
from kubedl.runtime.controller import Controller
from kubedl.runtime.events import Recorder
from kubedl.runtime.gate import Gate
from kubedl.runtime.leader import Election, Timing
from kubedl.runtime.manager import Lead, Manager
from kubedl.runtime.metrics import Metrics
from kubedl.runtime.writer import Writer
from kubedl.schema.rbac import READ, Grant
from kubedl.training import labels
from kubedl.training.addons.board_controller import BoardController
from kubedl.training.controller import Caches, JobController, owner
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds
from kubedl.training.snapshot import Settings
from kubedl.wire.core import NODES, PODS, SERVICES, Pod
from kubedl.wire.meta import Key

LEASE = "kubedl-operator"

_PLURALS = tuple(kind.plural for kind in all_kinds())
GRANTS = (
    Grant(GROUP, _PLURALS, (*READ, "delete"), "Follow jobs, and delete those whose time after the end is over."),
    Grant(GROUP, tuple(f"{plural}/status" for plural in _PLURALS), ("patch",), "Say how jobs are."),
    # Needed where the admission plugin OwnerReferencesPermissionEnforcement is on.
    Grant(GROUP, tuple(f"{plural}/finalizers" for plural in _PLURALS), ("update",), "Own what belongs to a job."),
    Grant("", ("pods",), (*READ, "create", "delete"), "The replicas of jobs."),
    Grant("", ("services",), (*READ, "create"), "The names of replicas."),
    Grant("", ("services",), ("delete",), "TensorBoards whose time is over."),
    Grant("", ("nodes",), ("list", "watch"), "Notice nodes that are lost.", cluster_scoped=True),
    Grant("", ("events",), ("get", "create", "patch"), "Tell people what happened."),
    *(grant for kind in all_kinds() for grant in kind.grants),
    *caching.GRANTS,
    *modelling.GRANTS,
    Grant("coordination.k8s.io", ("leases",), ("get", "create", "patch"), "Elect one operator that writes."),
)

log = structlog.get_logger()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until told to stop."""
    options = _parser().parse_args(arguments)
    _configure_log(options.log_format)
    try:
        asyncio.run(_serve(options))
    except credentials.CredentialsError as error:
        print(f"kubedl operator: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kubedl operator", description=__doc__)
    parser.add_argument("--kubeconfig", help="run outside the cluster, as the current context of this file")
    parser.add_argument("--namespace", default="", help="serve this namespace only (default: all)")
    parser.add_argument("--address", default=health.ADDRESS, help="of /healthz, /readyz and /metrics")
    parser.add_argument("--no-leader-election", action="store_true", help="this is the only operator, for sure")
    parser.add_argument("--lease-namespace", help="where the Lease is (default: the operator's own namespace)")
    parser.add_argument("--lease-seconds", type=float, default=15, help="how long the others wait for a silent leader")
    parser.add_argument(
        "--lease-renew-seconds", type=float, default=10, help="a leader that cannot renew for so long exits"
    )
    parser.add_argument("--lease-retry-seconds", type=float, default=2, help="between two looks at the lease")
    parser.add_argument(
        "--watch-silence-seconds",
        type=float,
        default=watch.SILENCE,
        help="a watch that is silent for so long is broken",
    )
    parser.add_argument("--workers", type=int, default=64, help="jobs of a kind that are worked on at once")
    parser.add_argument("--calls-per-second", type=float, default=0, help="limit of calls to the API server (0: none)")
    parser.add_argument("--calls-burst", type=int, default=200, help="calls that may come at once, under a limit")
    parser.add_argument(
        "--node-grace-seconds",
        type=float,
        default=60,
        help="how long a lost node may come back before pods are replaced",
    )
    parser.add_argument(
        "--settle-seconds",
        type=float,
        default=60,
        help="where all replicas restart together: how long an ordinary exit waits for silent peers to explain it",
    )
    parser.add_argument("--cluster-domain", default="cluster.local", help="the cluster's DNS domain")
    parser.add_argument(
        "--git-image",
        default=Settings.git_image,
        help="image with git and sh that fetches code for jobs which name none; pin it to a version",
    )
    parser.add_argument(
        "--packer-image",
        default=modelling.PACKER_IMAGE,
        help="image that makes images of models; pin it to the operator's own version",
    )
    parser.add_argument("--log-format", choices=("json", "console"), default="json")
    return parser


async def _serve(options: argparse.Namespace) -> None:
    identity = credentials.load(options.kubeconfig)
    metrics = Metrics()
    # Renewing the lease must not queue behind the writes that it allows.
    lease_client = Client(identity, told=metrics.made, sockets=2)
    lease = Key(options.lease_namespace or identity.namespace, LEASE)
    timing = Timing(options.lease_seconds, options.lease_renew_seconds, options.lease_retry_seconds)
    election = Election(lease_client, lease, timing=timing, changed=metrics.leading)
    limiter = Limiter(options.calls_per_second, options.calls_burst)
    client = Client(identity, limiter=limiter, told=metrics.made, before_write=election.check)
    manager = Manager(client, silence=options.watch_silence_seconds)
    recorder = Recorder(client, dropped=metrics.event_dropped)
    _assemble(options, manager, recorder, metrics)
    manager.beside(recorder.run)
    manager.beside(metrics.watch_loop_lag)
    try:
        async with health.serve(
            options.address, dead=lambda: (), missing=manager.missing, metrics=metrics.render
        ) as address:
            log.info("started", kinds=[kind.kind for kind in all_kinds()], address=address, pid=os.getpid())
            await _until_told(manager.run(_lead_at_once if options.no_leader_election else election.run))
    finally:
        await client.close()
        await lease_client.close()


def _assemble(options: argparse.Namespace, manager: Manager, recorder: Recorder, metrics: Metrics) -> None:
    everywhere = Scope(options.namespace)
    ours = Scope(options.namespace, labels=labels.JOB_NAME)
    pods = manager.cache(PODS, ours, {"owner": owner, "node": _node}, remember="owner")
    services = manager.cache(SERVICES, ours, {"owner": owner})
    nodes = manager.cache(NODES)
    backends = manager.cache(CACHE_BACKENDS, everywhere)
    followed: Followed = {}
    settings = Settings(
        node_grace=timedelta(seconds=options.node_grace_seconds),
        settle=timedelta(seconds=options.settle_seconds),
        cluster_domain=options.cluster_domain,
        git_image=options.git_image,
    )
    for kind in all_kinds():
        jobs = manager.cache(kind.resource, everywhere, {BY_CACHE: cache_key})
        followed[kind.resource] = manager.reflectors[-1]
        gate = Gate({kind.resource: jobs, PODS: pods, SERVICES: services})
        writer = Writer(manager.client, gate)
        caches = Caches(jobs, pods, services, nodes, backends)
        handler = JobController(kind, caches, writer, recorder, settings=settings, clock=_now)
        controller = Controller(kind.kind, handler.reconcile, gate=gate, workers=options.workers, observer=metrics)
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
    add_caching(manager, recorder, metrics, everywhere, backends, followed, _now)
    modelling.add_modelling(manager, recorder, metrics, everywhere, options.packer_image, _now)
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


def _node(pod: Pod) -> str | None:
    return pod.spec.node_name or None


def _now() -> datetime:
    return datetime.now(UTC)


async def _lead_at_once(lead: Lead) -> None:
    await lead()


async def _until_told(work: Awaitable[None]) -> None:
    """Run until SIGTERM or SIGINT, then end what runs in good order."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task


def _configure_log(form: str) -> None:
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
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


if __name__ == "__main__":
    sys.exit(main())
