"""Wiring of the training controllers: for each kind those of jobs, TensorBoards and Workloads; one of scalers."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Mapping
from datetime import timedelta

from kubedl.api.cachebackend import CacheBackend
from kubedl.api.training import BY_CACHE, TrainingJob, cache_key
from kubedl.kube.types.core import NODES, PODS, SERVICES, Node, Pod, Service
from kubedl.kube.types.meta import Resource
from kubedl.runtime.context import Context
from kubedl.runtime.ownership import controllers_of
from kubedl.runtime.reflector import Reflector
from kubedl.runtime.store import BY_OWNER, Store
from kubedl.training import labels
from kubedl.training.controller import JobController
from kubedl.training.elastic import flags as elastic
from kubedl.training.elastic.asking import CheckpointAsker
from kubedl.training.gang.assignment import AUTO, NONE
from kubedl.training.gang.discovery import GangDiscovery
from kubedl.training.gang.schedulers import all_gang_schedulers
from kubedl.training.host_network.ports import DEFAULT_RANGE, HostPorts, PortRange
from kubedl.training.informers import Informers
from kubedl.training.job_metrics import JobMetrics
from kubedl.training.kind import Kind
from kubedl.training.kinds import all_kinds
from kubedl.training.kueue import types as kueue
from kubedl.training.kueue.controller import Stores, WorkloadController
from kubedl.training.kueue.place_controller import PlaceController
from kubedl.training.kueue.places import HOLDING, PENDING, Places, holding_in, pending_in
from kubedl.training.kueue.queues import Queues
from kubedl.training.observed import Settings
from kubedl.training.pacing import Pacing
from kubedl.training.scaling import setup as scaling
from kubedl.training.spot import flags as spot
from kubedl.training.spot.reports import ProgressReports
from kubedl.training.tensorboard.controller import TensorBoardController

TENSORBOARD_WORKERS, WORKLOAD_WORKERS, PLACE_WORKERS = 8, 8, 1

Jobs = Mapping[Resource[TrainingJob], Reflector[TrainingJob]]


def add_options(parser: ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument(
        "--node-grace-seconds",
        type=float,
        default=60,
        help="seconds that a lost node may take to come back before its pods are replaced",
    )
    parser.add_argument(
        "--max-lost-nodes-percent",
        type=float,
        default=Settings.max_lost_nodes_percent,
        help="if more than this share of all nodes is lost at once (at least 3, or all), their pods are not replaced",
    )
    parser.add_argument(
        "--settle-seconds",
        type=float,
        default=60,
        help="if all replicas restart together: seconds to wait for the exit of silent peers after an ordinary failure",
    )
    parser.add_argument(
        "--git-image",
        default=Settings.git_image,
        help="default image with git and sh for codeSource; pin its version",
    )
    parser.add_argument(
        "--gang-scheduler",
        type=_gang_scheduler,
        default=AUTO,
        help="scheduler that starts the pods of a job together (native, volcano, coscheduling, koordinator, yunikorn): "
        "auto uses one that it finds, for jobs that ask for it (schedulingPolicy.minAvailable or gangScheduler); a "
        "name schedules all jobs with it; none refuses",
    )
    parser.add_argument(
        "--gang-release-seconds",
        type=float,
        default=300,
        help="seconds (up to twice as many, doubled each time) after which a gang of roles that start later "
        "(dependsOn) and cannot be placed restarts its job: what it holds may be what another such job waits for",
    )
    parser.add_argument(
        "--hostnetwork-port-range",
        type=_port_range,
        default=str(DEFAULT_RANGE),
        help="ports of nodes, first-last, for pods on the host network (networkMode); nothing else may listen there",
    )
    elastic.add_flags(parser)
    spot.add_flags(parser)


def setup(context: Context, backends: Reflector[CacheBackend]) -> Jobs:
    """Run the controllers of every installed kind; returns the informers of jobs.

    No controller waits for the cache of CacheBackends, which most jobs do not use.
    """
    manager, options = context.manager, context.options
    pods = manager.informer(PODS, context.scope(labels.JOB_NAME), {"node": _node}, remember=BY_OWNER)
    services = manager.informer(SERVICES, context.scope(labels.JOB_NAME))
    nodes = None if options.without_cluster_role else manager.informer(NODES)
    parts = _Parts(context, pods, services, nodes, backends)
    jobs = {kind.resource: parts.setup(kind) for kind in all_kinds()}
    scaling.setup(context, jobs, pods)
    return jobs


class _Parts:
    """The informers and settings shared by the controllers of all kinds."""

    def __init__(
        self,
        context: Context,
        pods: Reflector[Pod],
        services: Reflector[Service],
        nodes: Reflector[Node] | None,
        backends: Reflector[CacheBackend],
    ) -> None:
        self._context = context
        self._pods, self._services, self._nodes, self._backends = pods, services, nodes, backends
        self._settings = _settings(context)
        self._asker = CheckpointAsker(context.manager.client, self._settings.checkpoint_key)
        self._reports = ProgressReports(context.manager.client, self._settings.checkpoint_key, context.clock)
        self._metrics = JobMetrics([kind.kind for kind in all_kinds()], context.metrics.registry)
        self._pacing = Pacing()
        self._host_ports = HostPorts(context.options.hostnetwork_port_range)
        pods.store.subscribe(self._host_ports.pod_changed)
        self._gang_schedulers = GangDiscovery(context.manager.client)
        context.manager.add_runnable(self._gang_schedulers.run)
        manager, outside = context.manager, not context.options.without_cluster_role
        indexes = {PENDING: pending_in, HOLDING: holding_in}
        self._workloads = manager.informer(kueue.WORKLOADS, context.scope(labels.JOB_NAME), indexes)
        self._local_queues = manager.informer(kueue.LOCAL_QUEUES, context.scope())
        self._flavors = manager.informer(kueue.RESOURCE_FLAVORS) if outside else None
        self._cluster_queues = manager.informer(kueue.CLUSTER_QUEUES) if outside else None
        self._places = Places()
        if outside:
            self._setup_places()

    def setup(self, kind: Kind) -> Reflector[TrainingJob]:
        """Run the controllers of one kind; returns the informer of its jobs."""
        jobs = self._context.manager.informer(kind.resource, self._context.scope(), {BY_CACHE: cache_key})
        nodes: Store[Node] = self._nodes.store if self._nodes is not None else Store()
        flavors: Store[kueue.ResourceFlavor] = self._flavors.store if self._flavors is not None else Store()
        informers = Informers(
            jobs.store,
            self._pods.store,
            self._services.store,
            nodes,
            self._backends.store,
            gang_schedulers=self._gang_schedulers.installed,
            host_ports=self._host_ports,
            workloads=self._workloads.store,
            flavors=flavors,
            queues=self._queues(),
            kueue_is_loading=self._kueue_is_loading,
            places=self._places,
            missing_kueue=self._missing_kueue,
            asker=self._asker,
            reports=self._reports,
        )
        self._setup_tensorboards(kind, jobs, informers)
        self._setup_workloads(kind, jobs, self._setup_jobs(kind, jobs, informers))
        return jobs

    def _kueue_is_loading(self) -> bool:
        caches = (self._workloads, self._local_queues)
        return not all(cache.synced.is_set() or cache.absent for cache in caches)

    def _queues(self) -> Queues:
        cluster, flavors = self._cluster_queues, self._flavors
        if cluster is None or flavors is None:
            return Queues(self._local_queues.store)
        known = (self._local_queues, cluster, flavors)
        stores = self._local_queues.store, cluster.store, flavors.store
        return Queues(*stores, lambda: all(one.synced.is_set() for one in known))

    def _missing_kueue(self) -> str:
        if self._flavors is None:
            return "the operator cannot read its ResourceFlavors without a ClusterRole (--without-cluster-role)"
        return "the cluster has no Kueue" if self._workloads.absent else ""

    def _setup_jobs(self, kind: Kind, jobs: Reflector[TrainingJob], informers: Informers) -> JobController:
        context = self._context
        builder = context.controller().for_(jobs).owns(self._pods, self._services)
        handler = JobController(
            kind,
            informers,
            builder.writer,
            context.recorder,
            settings=self._settings,
            clock=context.clock,
            written=self._metrics.written,
        )
        if self._nodes is not None:
            builder.watches(self._nodes, handler.observer.jobs_on)
        builder.watches(self._backends, handler.observer.jobs_using, optional=True)
        builder.watches(self._workloads, controllers_of(kind.kind), optional=True, owner=kind.kind)
        controller = builder.complete(
            self._pacing.around(jobs.store, handler.reconcile), workers=context.options.workers
        )
        controller.watch(self._places.store, controllers_of(kind.kind))
        jobs.store.subscribe(handler.observer.job_changed)
        self._pods.store.subscribe(handler.observer.pod_changed, owner=kind.kind)
        return handler

    def _setup_places(self) -> None:
        """Without a ClusterRole Kueue cannot be used."""
        builder = self._context.controller("LocalQueue")
        handler = PlaceController(self._context.manager.client, self._workloads.store, self._queues(), self._places)
        builder.watches(self._workloads, handler.queue_of, optional=True)
        builder.complete(handler.reconcile, workers=PLACE_WORKERS)

    def _setup_workloads(self, kind: Kind, jobs: Reflector[TrainingJob], of_jobs: JobController) -> None:
        context = self._context
        builder = context.controller(f"{kind.kind} Workload")
        stores = Stores(jobs.store, self._pods.store, self._workloads.store, self._queues(), self._missing_kueue)
        handler = WorkloadController(
            kind,
            stores,
            builder.writer,
            context.recorder,
            settings=of_jobs.observer.current_settings,
            clock=context.clock,
        )
        builder.for_(jobs, handler.job_with_queue).owns(self._workloads, optional=True)
        builder.watches(self._pods, handler.job_of, owner=kind.kind)
        builder.complete(handler.reconcile, workers=WORKLOAD_WORKERS)

    def _setup_tensorboards(self, kind: Kind, jobs: Reflector[TrainingJob], informers: Informers) -> None:
        context = self._context
        builder = context.controller(f"{kind.kind} TensorBoard")
        handler = TensorBoardController(kind, informers, builder.writer, context.recorder, clock=context.clock)
        builder.for_(jobs, handler.job_with_tensorboard)
        builder.owns(self._pods, self._services, keys=handler.job_of, owner=kind.kind)
        builder.complete(handler.reconcile, workers=TENSORBOARD_WORKERS)


def _settings(context: Context) -> Settings:
    options = context.options
    return Settings(
        node_grace=timedelta(seconds=options.node_grace_seconds),
        max_lost_nodes_percent=options.max_lost_nodes_percent,
        settle=timedelta(seconds=options.settle_seconds),
        cluster_domain=options.cluster_domain,
        git_image=options.git_image,
        file_systems=options.efs_file_systems,
        omit_user=options.omit_run_as_user,
        gang_scheduler=options.gang_scheduler,
        gang_release=timedelta(seconds=options.gang_release_seconds),
        reclaim_notices=options.reclaim_notices,
        checkpoint_key=options.checkpoint_key_file,
        pools=options.pools,
    )


def _gang_scheduler(name: str) -> str:
    """Check a name; not by `choices`, since the chart does not know those of other packages."""
    known = (AUTO, NONE, *all_gang_schedulers())
    if name not in known:
        raise ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
    return name


def _port_range(text: str) -> PortRange:
    try:
        return PortRange.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def _node(pod: Pod) -> str | None:
    return pod.spec.node_name or None
