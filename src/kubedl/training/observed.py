"""The observed state of one job. Planning reads nothing else, so equal observations give equal plans."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kubedl.api.cachebackend import CacheBackend
from kubedl.kube.types.core import Pod, Service
from kubedl.podspec.model_volumes import NO_FILE_SYSTEMS, FileSystems
from kubedl.training.elastic.notices import SOURCES, Notice, Source
from kubedl.training.gang.scheduler import InstalledScheduler
from kubedl.training.host_network.ports import HostPorts
from kubedl.training.job import Job, Replica
from kubedl.training.kind import Kind
from kubedl.training.kueue.queue import Queue
from kubedl.training.pod_diagnostics import KubeletEvent
from kubedl.training.policies.node_outage import Outage
from kubedl.training.spot.pools import Pool
from kubedl.training.spot.progress import NOTHING, Heard


@dataclass(frozen=True)
class Settings:
    """Settings of the administrator."""

    node_grace: timedelta = timedelta(seconds=60)  # grace period of a lost node before its pods are replaced
    max_lost_nodes_percent: float = 30  # of all nodes; if more are lost at once, their pods are not replaced
    settle: timedelta = timedelta(seconds=60)  # how long an ordinary failure waits for a root cause among its peers
    cluster_domain: str = "cluster.local"
    git_image: str = "alpine/git:2.49.1"  # default image for code sync; it needs git and sh
    file_systems: FileSystems = NO_FILE_SYSTEMS  # AWS EFS file systems that jobs may write models to
    omit_user: bool = False  # the cluster assigns users to containers (OpenShift)
    gang_scheduler: str = "auto"  # of jobs that choose none
    gang_release: timedelta = timedelta(seconds=300)  # after which a later gang that is not placed restarts its job
    gang_schedulers: Mapping[str, InstalledScheduler] | None = None  # those of the cluster; None if not known yet
    reclaim_notices: tuple[Source, ...] = SOURCES  # what tells that a node will be taken
    pools: tuple[Pool, ...] = ()  # of nodes, that jobs may name
    checkpoint_key: bytes = field(default=b"", repr=False)  # of the tokens that programs know the operator by


@dataclass(frozen=True)
class Observed:
    """A job, its pods, and the time."""

    kind: Kind
    job: Job
    pods: tuple[Pod, ...]  # controlled by the job, running or ended
    deleted: tuple[Pod, ...]  # tombstones: last states of deleted pods, until they are processed
    has_service: bool
    lost_nodes: Mapping[str, datetime]  # since when
    now: datetime
    settings: Settings
    services: tuple[Service, ...] = ()  # controlled by the job
    host_ports: HostPorts = field(default_factory=HostPorts)
    others: tuple[Pod, ...] = ()  # controlled by the job, and no replicas
    queue: Queue | None = None  # of the job, if it asks for one
    cache: CacheBackend | None = None  # of the job, if it exists
    unmet_placement: tuple[tuple[str, str], ...] = ()  # what no node can satisfy: reason and message
    outage: Outage | None = None  # too many nodes are lost at once to replace their pods
    notices: Mapping[str, Notice] = field(default_factory=dict)  # by node: those of pods, and those left before
    confirmed: str = ""  # the last request for a checkpoint that the program says it has confirmed
    progress: Heard = NOTHING  # what the program of a job with a deadline says
    heard: KubeletEvent | None = None  # the kubelet's latest Event about one pod
    message_written_at: datetime | None = None  # when this process last changed the waiting message


@dataclass(frozen=True, slots=True)
class ObservedReplica:
    """The observed state of one replica."""

    replica: Replica
    attempt: int  # the required attempt of its pod; an older pod must be deleted
    pod: Pod | None
    current: Pod | None  # the pod, if it is of this attempt
    gone: Pod | None  # the deleted pod of this attempt, if any
    succeeded: bool
