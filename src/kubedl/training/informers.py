"""The informers of the controllers of jobs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kubedl.api.cachebackend import CacheBackend
from kubedl.api.training import TrainingJob
from kubedl.kube.types.core import Node, Pod, Service
from kubedl.runtime.store import Store
from kubedl.training.gang.scheduler import InstalledScheduler
from kubedl.training.kueue.types import ResourceFlavor, Workload


@dataclass(frozen=True)
class Informers:
    """The informers of the controller. Pods and Services are indexed by owner."""

    jobs: Store[TrainingJob]
    pods: Store[Pod]
    services: Store[Service]
    nodes: Store[Node]
    backends: Store[CacheBackend] = field(default_factory=Store)
    gang_schedulers: Callable[[], Mapping[str, InstalledScheduler] | None] = lambda: None  # those of the cluster
    workloads: Store[Workload] = field(default_factory=Store)
    flavors: Store[ResourceFlavor] = field(default_factory=Store)
    missing_kueue: Callable[[], str] = lambda: "the cluster has no Kueue"  # empty if it can be used
