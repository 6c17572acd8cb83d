"""What is known about one job at one moment. Planning reads nothing else, so equal snapshots give equal plans."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property

from kubedl.api.cache import CacheBackend
from kubedl.api.model_volumes import NO_FILE_SYSTEMS, FileSystems
from kubedl.training.diagnosis import Heard
from kubedl.training.job import Job, Replica
from kubedl.training.kind import Kind
from kubedl.training.policies.outage import Outage
from kubedl.wire.core import Pod


@dataclass(frozen=True)
class Settings:
    """What the administrator may set."""

    node_grace: timedelta = timedelta(seconds=60)  # how long a lost node may come back before its pods are replaced
    max_lost_nodes_percent: float = 30  # of all nodes; when more are lost at once, no pod there is replaced
    settle: timedelta = timedelta(
        seconds=60
    )  # how long an ordinary exit waits for a better explanation by silent peers
    cluster_domain: str = "cluster.local"
    git_image: str = "alpine/git"  # fetches code where the job names no image; it needs git and sh
    file_systems: FileSystems = NO_FILE_SYSTEMS  # of AWS, in which jobs may leave their models
    omit_user: bool = False  # the cluster assigns users to containers, and refuses those that a pod names


@dataclass(frozen=True)
class Snapshot:
    """A job, its pods, and the clock."""

    kind: Kind
    job: Job
    pods: tuple[Pod, ...]  # that belong to the job, alive or ended
    deleted: tuple[Pod, ...]  # gone, in their last state, as long as nobody has drawn conclusions from them
    has_service: bool
    lost_nodes: Mapping[str, datetime]  # since when
    now: datetime
    settings: Settings
    cache: CacheBackend | None = None  # that the job uses, if it is there
    outage: Outage | None = None  # too many nodes are lost at once to give up the pods there
    heard: Heard | None = None  # what the kubelet's Events said last, about one pod
    told_at: datetime | None = None  # when this operator last changed what the job says it waits for

    @cached_property
    def pod_by_name(self) -> dict[str, Pod]:
        """Names say which replica a pod is; labels can be edited."""
        return {pod.metadata.name: pod for pod in self.pods}

    @cached_property
    def deleted_by_name(self) -> dict[str, list[Pod]]:
        """Several, where a replica was replaced more than once."""
        found: dict[str, list[Pod]] = {}
        for pod in self.deleted:
            found.setdefault(pod.metadata.name, []).append(pod)
        return found


@dataclass(frozen=True, slots=True)
class Sighting:
    """One replica as it was found."""

    replica: Replica
    attempt: int  # the attempt that its pod must be of; an older pod must go
    pod: Pod | None
    current: Pod | None  # the pod, if it is of this attempt
    gone: Pod | None  # the pod of this attempt, if it was deleted
    succeeded: bool
