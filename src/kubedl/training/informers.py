"""The informers of the controllers of jobs, and what else they observe."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kubedl.api.cachebackend import CacheBackend
from kubedl.api.training import TrainingJob
from kubedl.kube.types.core import Node, Pod, Service
from kubedl.runtime.store import Store
from kubedl.training.elastic.asking import Asker, NobodyAsks
from kubedl.training.gang.scheduler import InstalledScheduler
from kubedl.training.host_network.ports import HostPorts
from kubedl.training.kueue.places import Places
from kubedl.training.kueue.queues import Queues
from kubedl.training.kueue.types import ResourceFlavor, Workload
from kubedl.training.spot.reports import NoReports, Reports


@dataclass(frozen=True)
class Informers:
    """The informers of the controller. Pods and Services are indexed by owner."""

    jobs: Store[TrainingJob]
    pods: Store[Pod]
    services: Store[Service]
    nodes: Store[Node]
    backends: Store[CacheBackend] = field(default_factory=Store)
    gang_schedulers: Callable[[], Mapping[str, InstalledScheduler] | None] = lambda: None  # those of the cluster
    host_ports: HostPorts = field(default_factory=HostPorts)
    workloads: Store[Workload] = field(default_factory=Store)
    flavors: Store[ResourceFlavor] = field(default_factory=Store)
    queues: Queues = field(default_factory=Queues)
    kueue_is_loading: Callable[[], bool] = lambda: False  # its caches are not filled yet
    places: Places = field(default_factory=Places)  # of waiting Workloads
    asker: Asker = field(default_factory=NobodyAsks)  # of checkpoints
    reports: Reports = field(default_factory=NoReports)  # of progress
    missing_kueue: Callable[[], str] = lambda: "the cluster has no Kueue"  # empty if it can be used
